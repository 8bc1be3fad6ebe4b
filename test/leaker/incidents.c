/*
 * incidents.c
 *	  Memory that grows as it does in incidents that people report: inside a
 *	  query, in a trigger, in an index build, by a library's malloc, freed and kept.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(hold_rows);
PG_FUNCTION_INFO_V1(hold_in_trigger);
PG_FUNCTION_INFO_V1(hold_contexts);
PG_FUNCTION_INFO_V1(free_and_keep);
PG_FUNCTION_INFO_V1(leak_by_libxml);
PG_FUNCTION_INFO_V1(remember_ids);
PG_FUNCTION_INFO_V1(grow_buffer);
PG_FUNCTION_INFO_V1(free_in_threads);
PG_FUNCTION_INFO_V1(compare_copies);
PG_FUNCTION_INFO_V1(keep_plans);

#define CHUNK_BYTES 1000
#define MAX_THREADS 16

static pg_noinline void
holding_in(MemoryContext context)
{
	char	   *chunk = MemoryContextAlloc(context, CHUNK_BYTES);

	chunk[0] = 1;
}

/*
 * hold_rows(megabytes int, seconds float8): a row per megabyte, of which as much is
 * kept in the context of the query that runs, over so long a time.
 */
Datum
hold_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	FuncCallContext *call;

	if (SRF_IS_FIRSTCALL())
	{
		call = SRF_FIRSTCALL_INIT();
		call->max_calls = PG_GETARG_INT32(0);
	}
	call = SRF_PERCALL_SETUP();
	if (call->call_cntr >= call->max_calls)
		SRF_RETURN_DONE(call);
	for (int i = 0; i < 1000000 / CHUNK_BYTES; i++)
		holding_in(result->econtext->ecxt_per_query_memory);
	pg_usleep((long) (PG_GETARG_FLOAT8(1) * 1000000 / call->max_calls));
	CHECK_FOR_INTERRUPTS();
	SRF_RETURN_NEXT(call, Int32GetDatum((int) call->call_cntr));
}

/* A trigger that keeps a megabyte for each row, until the transaction ends. */
Datum
hold_in_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	for (int i = 0; i < 1000000 / CHUNK_BYTES; i++)
		holding_in(TopTransactionContext);
	return PointerGetDatum(trigger->tg_trigtuple);
}

/*
 * hold_contexts(times int): contexts that nobody ever deletes, with nothing in them.
 */
Datum
hold_contexts(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < PG_GETARG_INT32(0); i++)
		(void) AllocSetContextCreate(CacheMemoryContext, "kept context",
									 ALLOCSET_DEFAULT_SIZES);
	PG_RETURN_VOID();
}

/*
 * free_and_keep(megabytes int): malloc gets so much back, and can't give it to the
 * kernel, as the last chunk stays.
 */
Datum
free_and_keep(PG_FUNCTION_ARGS)
{
	Size		count = (Size) PG_GETARG_INT32(0) * 1000000 / CHUNK_BYTES;
	char	  **chunks = malloc(count * sizeof(char *));

	for (Size i = 0; i < count; i++)
	{
		chunks[i] = malloc(CHUNK_BYTES);
		memset(chunks[i], 1, CHUNK_BYTES);
	}
	for (Size i = 0; i < count - 1; i++)
		free(chunks[i]);
	free(chunks);
	PG_RETURN_VOID();
}

/*
 * leak_by_libxml(kilobytes int, times int): the library keeps copies of a text.
 * Returns false if the server has no libxml2.
 */
Datum
leak_by_libxml(PG_FUNCTION_ARGS)
{
	unsigned char *(*copy) (const unsigned char *text) = dlsym(RTLD_DEFAULT, "xmlStrdup");
	Size		bytes = (Size) PG_GETARG_INT32(0) * 1000;
	unsigned char *text = palloc(bytes + 1);

	memset(text, 'x', bytes);
	text[bytes] = '\0';
	for (int i = 0; copy != NULL && i < PG_GETARG_INT32(1); i++)
		(void) copy(text);
	PG_RETURN_BOOL(copy != NULL);
}

/*
 * remember_ids(count int): appends to an array of the session, which doubles when it is
 * full.
 */
Datum
remember_ids(PG_FUNCTION_ARGS)
{
	static int64 *seen;
	static int64 seen_count,
				room;

	for (int i = 0; i < PG_GETARG_INT32(0); i++)
	{
		if (seen_count == room)
		{
			room = Max(1024, 2 * room);
			seen = seen == NULL ?
				MemoryContextAlloc(TopMemoryContext, room * sizeof(int64)) :
				repalloc_huge(seen, room * sizeof(int64));
		}
		seen[seen_count++] = i;
	}
	PG_RETURN_VOID();
}

/* grow_buffer(bytes int): enlarges a buffer of the session. */
Datum
grow_buffer(PG_FUNCTION_ARGS)
{
	static char *buffer;
	static Size size;

	size += PG_GETARG_INT32(0);
	buffer = buffer == NULL ? MemoryContextAllocHuge(TopMemoryContext, size) :
		repalloc_huge(buffer, size);
	memset(buffer, 1, size);
	PG_RETURN_VOID();
}

/* Fill a list of blocks, and free all but the last, which keeps the arena as large as it was. */
static void *
free_most(void *arg)
{
	Size		bytes = *(Size *) arg;
	void	  **blocks = NULL;

	for (Size i = 0; i < bytes / CHUNK_BYTES; i++)
	{
		void	  **block = malloc(CHUNK_BYTES);

		memset(block, 1, CHUNK_BYTES);
		*block = blocks;
		blocks = block;
	}
	for (void **block = blocks == NULL ? NULL : *blocks; block != NULL;)
	{
		void	  **before = *block;

		free(block);
		block = before;
	}
	return blocks;
}

/*
 * free_in_threads(threads int, megabytes int): threads of a library, of which each frees about as
 * much as that, and ends.  Signals of the server are none of theirs.
 */
Datum
free_in_threads(PG_FUNCTION_ARGS)
{
	int			count = Min(PG_GETARG_INT32(0), MAX_THREADS);
	Size		bytes = (Size) PG_GETARG_INT32(1) * 1000 * 1000;
	pthread_t	threads[MAX_THREADS];
	sigset_t	all;
	sigset_t	before;
	int			started = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started < count && pthread_create(&threads[started], NULL, free_most, &bytes) == 0)
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	PG_RETURN_INT32(started);
}

/*
 * compare_copies(int, int): compares as an operator class does, and leaves a copy behind
 * each time.  It rests when it has left very many.
 */
Datum
compare_copies(PG_FUNCTION_ARGS)
{
	static int	compared = 0;
	int32		left = PG_GETARG_INT32(0);
	int32		right = PG_GETARG_INT32(1);
	char	   *copy = palloc(200);

	memcpy(copy, &left, sizeof(left));
	if (++compared == 1000000)
		DirectFunctionCall1(pg_sleep, Float8GetDatum(3600.0));
	PG_RETURN_INT32(left < right ? -1 : left > right);
}

/* keep_plans(count int): prepares a statement again and again, and keeps each plan. */
Datum
keep_plans(PG_FUNCTION_ARGS)
{
	Oid			types[] = {INT4OID};

	SPI_connect();
	for (int i = 0; i < PG_GETARG_INT32(0); i++)
		SPI_keepplan(SPI_prepare("SELECT balance FROM accounts WHERE id = $1", 1, types));
	SPI_finish();
	PG_RETURN_VOID();
}
