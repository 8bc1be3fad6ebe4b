/*
 * run_threads.c
 *	  Tests of malloc_samples.c, whose samples any thread may claim while the owner
 *	  changes the chains that they are in.  Built for ThreadSanitizer.
 *
 * Blocks are numbers here: nobody allocates them, but each is had by one thread at a
 * time, and handed on as blocks are.  All of them share few chains, so that threads
 * meet there.  As site a sample has the number of its block.
 */
#include "postgres.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "tap.h"

#include "sampler/malloc_samples.c"

#define BLOCKS 3000
#define SLOTS 64
#define THREADS 4
#define SHARED_CHAINS 16
#define MAX_SAMPLES 1000000

uint8		test_filter[PLH_FILTER_BYTES];

static uintptr_t addresses[BLOCKS];

/* Is the block nobody's?  The owner gets it then, and gives it away. */
static bool nobodys[BLOCKS];

/* The owner's: is the block to be found as a sample, and is it now? */
static bool is_sampled[BLOCKS];
static bool is_live[BLOCKS];

/* Numbers of blocks that have been handed on, plus 1. */
static uint32 slots[SLOTS];

static bool is_over;
static int	not_found;			/* shared */
static int	not_ended;
static int64 samples_ended;

typedef struct Party
{
	pthread_t	thread;
	uint64		random;
} Party;

static uint32
next_random(Party *party, uint32 limit)
{
	party->random = party->random * UINT64CONST(6364136223846793005) + 1442695040888963407;
	return (party->random >> 33) % limit;
}

/* Choose blocks that are in the same few chains. */
static void
choose_blocks(void)
{
	int			count = 0;

	for (uintptr_t address = 0x10000; count < BLOCKS; address += 16)
	{
		if (plh_filter_bit((void *) address) < SHARED_CHAINS)
			addresses[count++] = address;
	}
	for (int i = 0; i < BLOCKS; i++)
		nobodys[i] = true;
}

static void *
block_at(uint32 number)
{
	return (void *) addresses[number];
}

/* The owner removes a sample that was claimed. */
static void
end_sample(uint32 number)
{
	PlhMallocSampled sampled = plh_malloc_samples_remove(number);

	if (!is_live[sampled.site])
		not_ended++;
	is_live[sampled.site] = false;
	samples_ended++;
}

static void
reap(void)
{
	uint32		number;

	while ((number = plh_malloc_samples_next_left()) != PLH_NO_MALLOC_SAMPLE)
		end_sample(number);
}

/* Free a block that the calling thread has: its sample must be there once. */
static uint32
claim(uint32 block)
{
	uint32		number = plh_malloc_samples_claim(block_at(block));

	if ((number != PLH_NO_MALLOC_SAMPLE) != READ(is_sampled[block]) ||
		plh_malloc_samples_claim(block_at(block)) != PLH_NO_MALLOC_SAMPLE)
		__atomic_add_fetch(&not_found, 1, __ATOMIC_RELAXED);
	return number;
}

/* As another thread frees it, or a signal handler. */
static void
free_elsewhere(uint32 block)
{
	uint32		number = claim(block);

	if (number != PLH_NO_MALLOC_SAMPLE)
		plh_malloc_samples_leave(number);
	WRITE(nobodys[block], true);
}

/* Take what is in a slot, and leave there a number, or 0. */
static uint32
exchange(Party *party, uint32 number)
{
	return __atomic_exchange_n(&slots[next_random(party, SLOTS)], number, __ATOMIC_ACQ_REL);
}

static void *
free_blocks(void *argument)
{
	Party	   *party = argument;

	while (!READ(is_over))
	{
		uint32		block = exchange(party, 0);

		if (block != 0)
			free_elsewhere(block - 1);
	}
	return NULL;
}

static Party handlers_party = {.random = 17};

static void
on_timer(int signal)
{
	uint32		block = exchange(&handlers_party, 0);

	if (block != 0)
		free_elsewhere(block - 1);
}

/* The owner allocates a block that is nobody's, and samples most of them. */
static uint32
allocate(Party *party)
{
	PlhMallocSampled sampled = {.size = 1};
	uint32		block;

	do
		block = next_random(party, BLOCKS);
	while (!READ(nobodys[block]));
	reap();
	if (is_live[block])
		not_ended++;
	nobodys[block] = false;
	WRITE(is_sampled[block], next_random(party, 10) != 0);
	sampled.site = block;
	if (is_sampled[block])
		is_live[block] = plh_malloc_samples_insert(block_at(block), &sampled) != NULL;
	return block;
}

/* The owner frees a block, having tried to move some of them in vain. */
static void
free_here(Party *party, uint32 block)
{
	uint32		number = claim(block);

	if (number != PLH_NO_MALLOC_SAMPLE && next_random(party, 4) == 0)
	{
		plh_malloc_samples_unclaim(number);
		number = claim(block);
	}
	if (number != PLH_NO_MALLOC_SAMPLE)
		end_sample(number);
	WRITE(nobodys[block], true);
}

/* The number of samples in chains, if the filter is right; else -1. */
static int
count_in_chains(void)
{
	int			count = 0;

	for (uint32 bit = 0; bit < CHAINS; bit++)
	{
		uint32		number = chain_region.base == NULL ? 0 : ((uint32 *) chain_region.base)[bit];

		if ((number != 0) != ((test_filter[bit / 8] >> bit % 8 & 1) != 0))
			return -1;
		for (; number != 0; number = sample_at(number)->next)
		{
			uintptr_t	block = sample_at(number)->block;

			if ((block & CLAIMED) != 0 || plh_filter_bit((void *) block) != bit)
				return -1;
			count++;
		}
	}
	return count;
}

static int
count_unused(void)
{
	int			count = 0;

	for (uint32 number = state.unused_samples; number != 0; number = sample_at(number)->next)
		count += sample_at(number)->block == 0 ? 1 : MAX_SAMPLES;
	return count;
}

static int
count_live(void)
{
	int			count = 0;

	for (int i = 0; i < BLOCKS; i++)
		count += is_live[i];
	return count;
}

/* Whether a forked child forgets all samples, and has its own. */
static bool
child_has_its_own(void)
{
	PlhMallocSampled sampled = {.size = 1};
	int			status = 1;
	pid_t		pid = fork();

	if (pid == 0)
	{
		bool		good;

		plh_malloc_samples_forget();
		good = count_in_chains() == 0;
		for (uint32 i = 0; i < 1000; i++)
			good &= plh_malloc_samples_claim(block_at(i)) == PLH_NO_MALLOC_SAMPLE;
		for (uint32 i = 0; i < 1000; i++)
			good &= plh_malloc_samples_insert(block_at(i), &sampled) != NULL;
		for (uint32 i = 0; i < 500; i++)
			(void) plh_malloc_samples_remove(plh_malloc_samples_claim(block_at(i)));
		good &= count_in_chains() == 500 && count_unused() == 500;
		_exit(good ? 0 : 1);
	}
	/* the timer interrupts */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* Free what has been handed on and not been freed. */
static void
empty_slots(Party *party)
{
	for (int i = 0; i < SLOTS; i++)
	{
		uint32		block = __atomic_exchange_n(&slots[i], 0, __ATOMIC_ACQ_REL);

		if (block != 0)
			free_here(party, block - 1);
	}
	reap();
}

static void
start_timer(long microseconds)
{
	struct itimerval timer = {{0, microseconds}, {0, microseconds}};

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Only the owner has handlers. */
static void
start_threads(Party *parties)
{
	sigset_t	blocked;
	sigset_t	before;

	sigfillset(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	for (int i = 0; i < THREADS; i++)
	{
		parties[i].random = i;
		pthread_create(&parties[i].thread, NULL, free_blocks, &parties[i]);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Threads and a signal handler free what the owner allocates, which it does, too. */
static void
test_threads(void)
{
	Party		parties[THREADS];
	Party		own = {.random = 42};
	int			children = 0;
	int			bad_children = 0;

	choose_blocks();
	start_threads(parties);
	start_timer(1000);
	for (int i = 0; i < rounds(200000); i++)
	{
		uint32		block = exchange(&own, allocate(&own) + 1);

		if (block != 0)
			free_here(&own, block - 1);
		if (i % 20000 == 0)
		{
			children++;
			bad_children += !child_has_its_own();
		}
	}
	start_timer(0);
	WRITE(is_over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(parties[i].thread, NULL);
	empty_slots(&own);
	printf("# %lld samples ended; %d were not found, %d not as they should\n",
		   (long long) samples_ended, not_found, not_ended);
	ok(not_found == 0, "a free finds the sample of its block, once");
	ok(not_ended == 0 && count_live() == 0, "each sample ends once");
	ok(children > 0 && bad_children == 0, "forked children have samples of their own");
	ok(count_in_chains() == 0, "no chain has a sample, and the filter is empty");
	ok(count_unused() == state.high_samples, "all samples can be used again");
}

/* As many as there may be, and one more. */
static void
test_many(void)
{
	PlhMallocSampled sampled = {.size = 1};
	const char *broken = NULL;

	plh_malloc_samples_forget();
	for (uintptr_t i = 1; i <= MAX_SAMPLES; i++)
		REQUIRE(broken, plh_malloc_samples_insert((void *) (i * 48), &sampled));
	REQUIRE(broken, !plh_malloc_samples_insert((void *) 16, &sampled));
	REQUIRE(broken, count_in_chains() == MAX_SAMPLES);
	ok_unbroken(broken, "there are as many samples as there may be");
	/* the last ones come first in their chains */
	for (uintptr_t i = MAX_SAMPLES - 1; i < MAX_SAMPLES; i -= 2)
	{
		uint32		number = plh_malloc_samples_claim((void *) (i * 48));

		REQUIRE(broken, number != PLH_NO_MALLOC_SAMPLE);
		plh_malloc_samples_leave(number);
	}
	for (uint32 number; (number = plh_malloc_samples_next_left()) != 0;)
		(void) plh_malloc_samples_remove(number);
	REQUIRE(broken, count_in_chains() == MAX_SAMPLES / 2);
	REQUIRE(broken, count_unused() == MAX_SAMPLES / 2);
	for (uintptr_t i = 1; i < MAX_SAMPLES; i += 2)
		REQUIRE(broken, plh_malloc_samples_insert((void *) (i * 48), &sampled));
	for (uintptr_t i = MAX_SAMPLES; i > 0; i--)
		(void) plh_malloc_samples_remove(plh_malloc_samples_claim((void *) (i * 48)));
	REQUIRE(broken, count_in_chains() == 0 && count_unused() == MAX_SAMPLES);
	REQUIRE(broken, state.high_samples == MAX_SAMPLES);
	ok_unbroken(broken, "room that was used is used again");
}

int
main(void)
{
	/* as the hooks do before they call what is tested */
	plh_guard_held = true;

	plh_malloc_samples_start(MAX_SAMPLES, test_filter);
	test_threads();
	test_many();
	return tests_end();
}
