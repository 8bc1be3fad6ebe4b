/*
 * malloc_users.c
 *	  A module that uses malloc as libraries do: keeps blocks outside of all memory
 *	  contexts, frees them later, and has threads that free each other's.
 *
 * Threads must not touch anything of the server, nor end up with its signals.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "preload/malloc_hook.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(hold_malloc);
PG_FUNCTION_INFO_V1(release_malloc);
PG_FUNCTION_INFO_V1(forget_malloc);
PG_FUNCTION_INFO_V1(hold_in_malloc);
PG_FUNCTION_INFO_V1(held_bytes);
PG_FUNCTION_INFO_V1(held_usable_bytes);
PG_FUNCTION_INFO_V1(regrow_malloc);
PG_FUNCTION_INFO_V1(churn_malloc);
PG_FUNCTION_INFO_V1(exchange_in_threads);
PG_FUNCTION_INFO_V1(fork_while_exchanging);
PG_FUNCTION_INFO_V1(leak_in_threads);
PG_FUNCTION_INFO_V1(dump_jemalloc);
PG_FUNCTION_INFO_V1(leave_step_halfway);

/* Blocks that are held are in a list, each with a pointer to the one before. */
typedef struct HeldBlock
{
	struct HeldBlock *before;
	Size		bytes;
} HeldBlock;

static HeldBlock *held;

static pg_noinline HeldBlock *
holding_malloc(Size bytes)
{
	HeldBlock  *block = malloc(bytes);

	if (block == NULL)
		elog(ERROR, "no memory");
	block->bytes = bytes;
	return block;
}

/* hold_malloc(bytes int, times bigint): as many blocks as "times", of 16 bytes at least */
Datum
hold_malloc(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
	{
		HeldBlock  *block = holding_malloc(PG_GETARG_INT32(0));

		block->before = held;
		held = block;
	}
	PG_RETURN_VOID();
}

/* release_malloc(): all of them */
Datum
release_malloc(PG_FUNCTION_ARGS)
{
	while (held != NULL)
	{
		HeldBlock  *block = held;

		held = block->before;
		free(block);
	}
	PG_RETURN_VOID();
}

/* forget_malloc(): nothing points to them any more */
Datum
forget_malloc(PG_FUNCTION_ARGS)
{
	held = NULL;
	PG_RETURN_VOID();
}

/* A chunk of the session's that only a block of malloc has the address of. */
static void **volatile holder;

static pg_noinline void *
palloc_for_malloc(Size bytes)
{
	return MemoryContextAllocZero(TopMemoryContext, bytes);
}

/* hold_in_malloc(bytes int) */
Datum
hold_in_malloc(PG_FUNCTION_ARGS)
{
	holder = calloc(1, 100);
	if (holder == NULL)
		elog(ERROR, "no memory");
	holder[5] = palloc_for_malloc(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/* held_bytes(): as requested */
Datum
held_bytes(PG_FUNCTION_ARGS)
{
	int64		bytes = 0;

	for (HeldBlock *block = held; block != NULL; block = block->before)
		bytes += block->bytes;
	PG_RETURN_INT64(bytes);
}

/* held_usable_bytes(): as malloc has them, with the size in front of each */
Datum
held_usable_bytes(PG_FUNCTION_ARGS)
{
	int64		bytes = 0;

	for (HeldBlock *block = held; block != NULL; block = block->before)
		bytes += malloc_usable_size(block) + sizeof(size_t);
	PG_RETURN_INT64(bytes);
}

static pg_noinline HeldBlock *
regrowing_malloc(HeldBlock *block, Size bytes)
{
	HeldBlock  *moved = realloc(block, bytes);

	if (moved == NULL)
		elog(ERROR, "no memory");
	moved->bytes = bytes;
	return moved;
}

/* regrow_malloc(bytes int): let each block that is held have that size */
Datum
regrow_malloc(PG_FUNCTION_ARGS)
{
	HeldBlock **link = &held;

	for (HeldBlock *block = held; block != NULL; block = block->before)
	{
		block = regrowing_malloc(block, PG_GETARG_INT32(0));
		*link = block;
		link = &block->before;
	}
	PG_RETURN_VOID();
}

static pg_noinline void
churning_malloc(Size bytes)
{
	static void *volatile block;

	block = malloc(bytes);
	free(block);
}

/* churn_malloc(bytes int, seconds float8): get and free, until it is over */
Datum
churn_malloc(PG_FUNCTION_ARGS)
{
	TimestampTz end = GetCurrentTimestamp() + (int64) (PG_GETARG_FLOAT8(1) * 1e6);
	int64		times = 0;

	while (GetCurrentTimestamp() < end)
	{
		for (int i = 0; i < 1000; i++)
			churning_malloc(PG_GETARG_INT32(0));
		times += 1000;
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_INT64(times);
}

/*
 * All parties of an exchange put blocks into random slots, and free what they find
 * there, or move it before they do.
 */
#define SLOTS 256
#define MAX_THREADS 64

static void *slots[SLOTS];

typedef struct Party
{
	pthread_t	thread;
	uint64		random;
	int64		rounds;
	bool		failed;
} Party;

static bool exchange_is_over;

/* Returns a number below "limit". */
static uint32
next_random(Party *party, uint32 limit)
{
	party->random = party->random * UINT64CONST(6364136223846793005) + 1442695040888963407;
	return (party->random >> 33) % limit;
}

static pg_noinline void *
exchanging_malloc(Party *party)
{
	Size		bytes = 1 + next_random(party, 2000);
	void	   *block = NULL;

	switch (next_random(party, 4))
	{
		case 0:
			return calloc(1, bytes);
		case 1:
			return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
		default:
			return malloc(bytes);
	}
}

static pg_noinline void *
exchanging_realloc(Party *party, void *block)
{
	return realloc(block, 1 + next_random(party, 4000));
}

static void
exchange(Party *party)
{
	void	   *block = exchanging_malloc(party);

	party->failed |= block == NULL;
	block = __atomic_exchange_n(&slots[next_random(party, SLOTS)], block, __ATOMIC_ACQ_REL);
	if (block != NULL && next_random(party, 3) == 0)
		block = exchanging_realloc(party, block);
	free(block);
}

static void *
take_part(void *argument)
{
	Party	   *party = argument;

	for (int64 i = 0; i < party->rounds && !__atomic_load_n(&exchange_is_over, __ATOMIC_RELAXED); i++)
		exchange(party);
	return NULL;
}

/* Start a thread that gets none of the server's signals. */
static void
start_thread(Party *party, void *(*function) (void *), int64 rounds, uint64 seed)
{
	sigset_t	all;
	sigset_t	before;
	int			error;

	*party = (Party)
	{
		.random = seed,.rounds = rounds
	};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&party->thread, NULL, function, party);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0)
		elog(FATAL, "no thread");
}

/* Let the calling thread and a number of others exchange blocks. */
static bool
exchange_with(int threads, int64 rounds, void (*meanwhile) (int64 round))
{
	Party		parties[MAX_THREADS];
	Party		own = {.random = MyProcPid,.rounds = rounds};
	bool		failed;

	exchange_is_over = false;
	for (int i = 0; i < threads; i++)
		start_thread(&parties[i], take_part, meanwhile == NULL ? rounds : PG_INT64_MAX, i + 1);
	for (int64 i = 0; i < rounds; i++)
	{
		exchange(&own);
		if (meanwhile != NULL)
			meanwhile(i);
	}
	failed = own.failed;
	__atomic_store_n(&exchange_is_over, meanwhile != NULL, __ATOMIC_RELAXED);
	for (int i = 0; i < threads; i++)
	{
		pthread_join(parties[i].thread, NULL);
		failed |= parties[i].failed;
	}
	for (int i = 0; i < SLOTS; i++)
	{
		free(slots[i]);
		slots[i] = NULL;
	}
	return !failed;
}

/* exchange_in_threads(threads int, rounds bigint): all blocks are freed in the end */
Datum
exchange_in_threads(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(exchange_with(Min(PG_GETARG_INT32(0), MAX_THREADS),
								 PG_GETARG_INT64(1), NULL));
}

static int	forks;
static int	bad_children;

/* Now and then fork a child that uses malloc on its own. */
static void
fork_sometimes(int64 round)
{
	Party		own = {.random = round};
	pid_t		pid;
	int			status = -1;

	if (round % 1000 != 0)
		return;
	forks++;
	pid = fork();
	if (pid == 0)
	{
		for (int i = 0; i < 5000; i++)
			exchange(&own);
		_exit(own.failed ? 1 : 0);
	}
	/* the server's signals may interrupt */
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	bad_children += status != 0;
}

/*
 * fork_while_exchanging(threads int, rounds bigint): how many children of a thousandth
 * as many did not end well
 */
Datum
fork_while_exchanging(PG_FUNCTION_ARGS)
{
	forks = bad_children = 0;
	if (!exchange_with(Min(PG_GETARG_INT32(0), MAX_THREADS), PG_GETARG_INT64(1), fork_sometimes))
		elog(ERROR, "no memory");
	PG_RETURN_INT32(forks == 0 ? -1 : bad_children);
}

/* A thousand bytes at a time. */
static void *
leak_thousands(void *argument)
{
	Party	   *party = argument;
	static void *volatile last;

	for (int64 i = 0; i < party->rounds; i++)
		last = malloc(1000);
	party->failed = last == NULL;
	return NULL;
}

/* leak_in_threads(threads int, times bigint): blocks of 1000 bytes, by each thread */
Datum
leak_in_threads(PG_FUNCTION_ARGS)
{
	Party		parties[MAX_THREADS];
	int			threads = Min(PG_GETARG_INT32(0), MAX_THREADS);
	bool		failed = false;

	for (int i = 0; i < threads; i++)
		start_thread(&parties[i], leak_thousands, PG_GETARG_INT64(1), i + 1);
	for (int i = 0; i < threads; i++)
	{
		pthread_join(parties[i].thread, NULL);
		failed |= parties[i].failed;
	}
	PG_RETURN_BOOL(!failed);
}

/* dump_jemalloc(path text): false if there is no jemalloc that has a profile */
Datum
dump_jemalloc(PG_FUNCTION_ARGS)
{
	int			(*control) (const char *, void *, size_t *, void *, size_t);
	const char *path = text_to_cstring(PG_GETARG_TEXT_PP(0));

	control = (int (*) (const char *, void *, size_t *, void *, size_t)) dlsym(RTLD_DEFAULT, "mallctl");
	PG_RETURN_BOOL(control != NULL &&
				   control("prof.dump", NULL, NULL, &path, sizeof(path)) == 0);
}

/*
 * leave_step_halfway(): what an allocation leaves that a signal handler has jumped out
 * of, when its size was subtracted from the countdown and not yet added again
 */
Datum
leave_step_halfway(PG_FUNCTION_ARGS)
{
	PlhMallocHook *hook = dlsym(RTLD_DEFAULT, PLH_MALLOC_HOOK_NAME);
	uint64_t   *left;

	if (hook == NULL)
		elog(ERROR, "the library is not preloaded");
	left = hook->countdown();
	*left -= *left + 1000;
	PG_RETURN_VOID();
}
