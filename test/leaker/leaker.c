/*
 * leaker.c
 *	  A module that leaks on purpose: known bytes, from named functions.
 *
 * Each leak_* function allocates in a function of its own that is never
 * inlined, so that tests can assert the name.
 */
#include "postgres.h"

#include <math.h>
#include <time.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(leak_top);
PG_FUNCTION_INFO_V1(leak_cache);
PG_FUNCTION_INFO_V1(leak_child);
PG_FUNCTION_INFO_V1(leak_generation);
PG_FUNCTION_INFO_V1(leak_slab);
PG_FUNCTION_INFO_V1(leak_by_repalloc);
PG_FUNCTION_INFO_V1(leak_contexts);
PG_FUNCTION_INFO_V1(leak_empty_contexts);
PG_FUNCTION_INFO_V1(leak_moved_contexts);
PG_FUNCTION_INFO_V1(leak_at_depth);
PG_FUNCTION_INFO_V1(leak_named_context);
PG_FUNCTION_INFO_V1(allocate_in_balance);
PG_FUNCTION_INFO_V1(allocate_and_reset);
PG_FUNCTION_INFO_V1(fill_cache_once);
PG_FUNCTION_INFO_V1(allocate_in_critical_section);
PG_FUNCTION_INFO_V1(hold_chunk);
PG_FUNCTION_INFO_V1(release_chunk);
PG_FUNCTION_INFO_V1(refused_allocation);
PG_FUNCTION_INFO_V1(fill_estimated);
PG_FUNCTION_INFO_V1(empty_estimated);
PG_FUNCTION_INFO_V1(time_pairs);
PG_FUNCTION_INFO_V1(time_pallocs);
PG_FUNCTION_INFO_V1(time_resets);
PG_FUNCTION_INFO_V1(time_repallocs);
PG_FUNCTION_INFO_V1(time_mallocs);
PG_FUNCTION_INFO_V1(time_unwind);

/* Contexts that live as long as the session, made when first needed. */
static MemoryContext child_context;
static MemoryContext generation_context;
static MemoryContext slab_context;
static MemoryContext cache_context;

/* Size of the chunks of slab_context; a slab has one size only. */
#define SLAB_CHUNK_BYTES 64

static pg_noinline void
leaking_top(int32 bytes)
{
	char	   *chunk = MemoryContextAlloc(TopMemoryContext, bytes);

	/* a zero-sized chunk has no byte to touch */
	if (bytes > 0)
		chunk[0] = 1;
}

static pg_noinline void
leaking_in(MemoryContext context, int32 bytes)
{
	MemoryContextAlloc(context, bytes);
}

/* leak_top(bytes int, times bigint): into TopMemoryContext */
Datum
leak_top(PG_FUNCTION_ARGS)
{
	int64		times = PG_GETARG_INT64(1);

	for (int64 i = 0; i < times; i++)
	{
		leaking_top(PG_GETARG_INT32(0));
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_VOID();
}

/* leak_cache(bytes int, times bigint): into CacheMemoryContext */
Datum
leak_cache(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		leaking_in(CacheMemoryContext, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/* leak_child(bytes int, times bigint): into a child of CacheMemoryContext */
Datum
leak_child(PG_FUNCTION_ARGS)
{
	if (child_context == NULL)
		child_context = AllocSetContextCreate(CacheMemoryContext,
											  "leaker child",
											  ALLOCSET_DEFAULT_SIZES);
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		leaking_in(child_context, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/* leak_generation(bytes int, times bigint): into a Generation context */
Datum
leak_generation(PG_FUNCTION_ARGS)
{
	if (generation_context == NULL)
		generation_context = GenerationContextCreate(TopMemoryContext,
													 "leaker generation",
													 ALLOCSET_DEFAULT_SIZES);
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		leaking_in(generation_context, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/* leak_slab(times bigint): chunks of 64 bytes into a Slab context */
Datum
leak_slab(PG_FUNCTION_ARGS)
{
	if (slab_context == NULL)
		slab_context = SlabContextCreate(TopMemoryContext, "leaker slab",
										 SLAB_DEFAULT_BLOCK_SIZE,
										 SLAB_CHUNK_BYTES);
	for (int64 i = 0; i < PG_GETARG_INT64(0); i++)
		leaking_in(slab_context, SLAB_CHUNK_BYTES);
	PG_RETURN_VOID();
}

static pg_noinline void *
growing_by_repalloc(void *chunk, Size bytes)
{
	return repalloc_huge(chunk, bytes);
}

/* leak_by_repalloc(step int, times bigint): one chunk that only ever grows */
Datum
leak_by_repalloc(PG_FUNCTION_ARGS)
{
	static char *chunk;
	static Size bytes;

	if (chunk == NULL)
		chunk = MemoryContextAlloc(TopMemoryContext, 1);
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
	{
		bytes += PG_GETARG_INT32(0);
		chunk = growing_by_repalloc(chunk, bytes);
	}
	PG_RETURN_VOID();
}

static pg_noinline void
leaking_context(int32 bytes)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "leaker leaked context",
												  ALLOCSET_SMALL_SIZES);

	leaking_in(context, bytes);
}

/* leak_contexts(bytes int, times bigint): whole contexts, a chunk in each */
Datum
leak_contexts(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		leaking_context(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/* leak_empty_contexts(times bigint): contexts, nothing in them */
Datum
leak_empty_contexts(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(0); i++)
		AllocSetContextCreate(TopMemoryContext, "leaker empty context",
							  ALLOCSET_SMALL_SIZES);
	PG_RETURN_VOID();
}

/*
 * leak_moved_contexts(bytes int, times bigint): contexts that are filled below
 * the caller's and then kept, as caches are built
 */
Datum
leak_moved_contexts(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
													  "leaker moved context",
													  ALLOCSET_SMALL_SIZES);

		leaking_in(context, PG_GETARG_INT32(0));
		MemoryContextSetParent(context, CacheMemoryContext);
	}
	PG_RETURN_VOID();
}

static pg_noinline int
leaking_at_depth(int32 depth, int32 bytes, int64 times)
{
	if (depth > 1)
		return leaking_at_depth(depth - 1, bytes, times) + 1;
	for (int64 i = 0; i < times; i++)
		leaking_top(bytes);
	return 1;
}

/* leak_at_depth(depth int, bytes int, times bigint): after recursing */
Datum
leak_at_depth(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(leaking_at_depth(PG_GETARG_INT32(0), PG_GETARG_INT32(1),
									 PG_GETARG_INT64(2)));
}

/*
 * leak_named_context(name text, bytes int): into a new context of that name,
 * which need not be a sensible one
 */
Datum
leak_named_context(PG_FUNCTION_ARGS)
{
	char	   *name = MemoryContextStrdup(TopMemoryContext,
										   text_to_cstring(PG_GETARG_TEXT_PP(0)));
	MemoryContext context =
		AllocSetContextCreateInternal(TopMemoryContext, name,
									  ALLOCSET_SMALL_SIZES);

	leaking_in(context, PG_GETARG_INT32(1));
	PG_RETURN_VOID();
}

static pg_noinline void
balanced(int32 bytes)
{
	char	   *chunk = MemoryContextAlloc(TopMemoryContext, bytes);

	chunk = repalloc(chunk, 2 * bytes);
	pfree(chunk);
}

/* allocate_in_balance(bytes int, times bigint): each chunk is freed */
Datum
allocate_in_balance(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		balanced(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/*
 * allocate_and_reset(bytes int, times bigint): into a long-lived context, and
 * one below it, that are reset and deleted
 */
Datum
allocate_and_reset(PG_FUNCTION_ARGS)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "leaker reset context",
												  ALLOCSET_SMALL_SIZES);

	for (int round = 0; round < 3; round++)
	{
		MemoryContext below = AllocSetContextCreate(context,
													"leaker deleted context",
													ALLOCSET_SMALL_SIZES);

		for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		{
			leaking_in(context, PG_GETARG_INT32(0));
			leaking_in(below, PG_GETARG_INT32(0));
		}
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	PG_RETURN_VOID();
}

static pg_noinline void
filling_cache(int32 bytes, int64 times)
{
	for (int64 i = 0; i < times; i++)
		MemoryContextAlloc(cache_context, bytes);
}

/* fill_cache_once(bytes int, times bigint): the second call does nothing */
Datum
fill_cache_once(PG_FUNCTION_ARGS)
{
	if (cache_context == NULL)
	{
		cache_context = AllocSetContextCreate(CacheMemoryContext,
											  "leaker cache",
											  ALLOCSET_DEFAULT_SIZES);
		filling_cache(PG_GETARG_INT32(0), PG_GETARG_INT64(1));
	}
	PG_RETURN_VOID();
}

/* allocate_in_critical_section(bytes int, times bigint) */
Datum
allocate_in_critical_section(PG_FUNCTION_ARGS)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "leaker critical",
												  ALLOCSET_DEFAULT_SIZES);

	MemoryContextAllowInCriticalSection(context, true);
	START_CRIT_SECTION();
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		leaking_in(context, PG_GETARG_INT32(0));
	END_CRIT_SECTION();
	PG_RETURN_VOID();
}

static void *held_chunk;

/* hold_chunk(bytes int): a chunk that release_chunk() frees */
Datum
hold_chunk(PG_FUNCTION_ARGS)
{
	held_chunk = MemoryContextAlloc(TopMemoryContext, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

Datum
release_chunk(PG_FUNCTION_ARGS)
{
	pfree(held_chunk);
	PG_RETURN_VOID();
}

/*
 * refused_allocation(bytes bigint): ask for more than there is, with and
 * without an error for it; the chunk to grow must be there afterwards
 */
Datum
refused_allocation(PG_FUNCTION_ARGS)
{
	char	   *chunk = MemoryContextAlloc(TopMemoryContext, 100);
	Size		bytes = PG_GETARG_INT64(0);

	if (MemoryContextAllocExtended(TopMemoryContext, bytes,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM) != NULL)
		elog(ERROR, "%zu bytes were not refused", bytes);
	chunk[99] = 1;
	chunk = repalloc_huge(chunk, bytes);
	elog(ERROR, "%zu bytes were not refused to %p", bytes, chunk);
}

/* What is sampled, and its estimate compared with the truth. */
static MemoryContext estimated;

/* Sizes from 8 bytes to 1 MB, of which each doubling is as frequent. */
static Size
mixed_size(uint64 *state)
{
	*state = *state * UINT64CONST(6364136223846793005) + 1442695040888963407;
	return (Size) (8 * pow(2, (*state >> 40) / (double) (1 << 24) * 17));
}

/*
 * fill_estimated(bytes int, chunks bigint) returns bigint: allocate chunks of so many
 * bytes, or of mixed sizes if that is 0; returns how much that is
 */
Datum
fill_estimated(PG_FUNCTION_ARGS)
{
	Size		bytes = PG_GETARG_INT32(0);
	static uint64 state = 1;
	int64		filled = 0;

	if (estimated == NULL)
		estimated = AllocSetContextCreate(TopMemoryContext, "estimated", ALLOCSET_DEFAULT_SIZES);
	for (int64 i = PG_GETARG_INT64(1); i > 0; i--)
	{
		Size		size = bytes > 0 ? bytes : mixed_size(&state);

		(void) MemoryContextAlloc(estimated, size);
		filled += size;
	}
	PG_RETURN_INT64(filled);
}

/*
 * empty_estimated() returns void: free all of that
 */
Datum
empty_estimated(PG_FUNCTION_ARGS)
{
	if (estimated != NULL)
		MemoryContextReset(estimated);
	PG_RETURN_VOID();
}

/*
 * What is timed, at the bottom of a stack: so many repetitions, whose nanoseconds are
 * returned, without those of what has to be done between them.
 */
typedef int64 (*TimedFunction) (int64 times, int32 bytes);

static int64
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64) now.tv_sec * 1000000000 + now.tv_nsec;
}

static pg_noinline int64
pair_up(int64 times, int32 bytes)
{
	int64		start = now_ns();

	for (int64 i = 0; i < times; i++)
		pfree(MemoryContextAlloc(TopMemoryContext, bytes));
	return now_ns() - start;
}

/* Fill a context of its own. */
static pg_noinline int64
fill(MemoryContext context, int64 times, int32 bytes)
{
	int64		start = now_ns();

	for (int64 i = 0; i < times; i++)
		(void) MemoryContextAlloc(context, bytes);
	return now_ns() - start;
}

/* Fill contexts with so many bytes each, which are reset. */
#define FILLED_BYTES (4 * 1024 * 1024)

static pg_noinline int64
palloc_only(int64 times, int32 bytes)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "timed", ALLOCSET_DEFAULT_SIZES);
	int64		part = Max(1, FILLED_BYTES / bytes);
	int64		ns = 0;

	for (int64 done = 0; done < times; done += part)
	{
		ns += fill(context, Min(part, times - done), bytes);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return ns;
}

/* Contexts that are reset have so many chunks. */
#define RESET_CHUNKS 10000

static pg_noinline int64
reset_only(int64 times, int32 bytes)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "timed", ALLOCSET_DEFAULT_SIZES);
	int64		ns = 0;

	for (int64 done = 0; done < times; done += RESET_CHUNKS)
	{
		int64		start;

		(void) fill(context, RESET_CHUNKS, bytes);
		start = now_ns();
		MemoryContextReset(context);
		ns += now_ns() - start;
	}
	MemoryContextDelete(context);
	return ns;
}

/* Each is to twice the size, or back. */
static pg_noinline int64
repalloc_only(int64 times, int32 bytes)
{
	void	   *chunk = MemoryContextAlloc(TopMemoryContext, bytes);
	int64		start = now_ns();

	for (int64 i = 0; i < times; i++)
		chunk = repalloc(chunk, i % 2 == 0 ? 2 * bytes : bytes);
	start = now_ns() - start;
	pfree(chunk);
	return start;
}

/* The compiler would leave out a malloc whose block is not used. */
static pg_noinline int64
malloc_and_free(int64 times, int32 bytes)
{
	int64		start = now_ns();

	for (int64 i = 0; i < times; i++)
	{
		void	   *block = malloc(bytes);

		__asm__ volatile (""::"r" (block):"memory");

		free(block);
	}
	return now_ns() - start;
}

static pg_noinline int64
unwind_only(int64 times, int32 bytes)
{
	void	   *frames[256];
	int64		start = now_ns();

	for (int64 i = 0; i < times; i++)
		(void) unw_backtrace(frames, 77);
	return now_ns() - start;
}

/* Only there to be deep in the stack. */
static pg_noinline int64
descend(int depth, TimedFunction timed, int64 times, int32 bytes)
{
	int64		ns;

	if (depth == 0)
		return timed(times, bytes);
	ns = descend(depth - 1, timed, times, bytes);
	__asm__ volatile ("":::"memory");	/* no jump instead of a call */

	return ns;
}

/* Nanoseconds of one of "times" repetitions, "depth" functions further down. */
static double
time_function(TimedFunction timed, int depth, int64 times, int32 bytes)
{
	return (double) descend(depth, timed, times, bytes) / times;
}

/* The same for functions in SQL whose arguments are the bytes and the times. */
static Datum
time_call(FunctionCallInfo fcinfo, TimedFunction timed, int depth)
{
	PG_RETURN_FLOAT8(time_function(timed, depth, PG_GETARG_INT64(1),
								   PG_GETARG_INT32(0)));
}

/*
 * time_pairs(depth int, bytes int, times bigint) returns float8: nanoseconds
 * of one MemoryContextAlloc and pfree
 */
Datum
time_pairs(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(time_function(pair_up, PG_GETARG_INT32(0),
								   PG_GETARG_INT64(2), PG_GETARG_INT32(1)));
}

/*
 * time_pallocs, time_resets, time_repallocs (bytes int, times bigint) return float8:
 * nanoseconds of a MemoryContextAlloc without a pfree, of a reset for each chunk of a
 * context, and of a repalloc
 */
Datum
time_pallocs(PG_FUNCTION_ARGS)
{
	return time_call(fcinfo, palloc_only, 3);
}

Datum
time_resets(PG_FUNCTION_ARGS)
{
	return time_call(fcinfo, reset_only, 3);
}

Datum
time_repallocs(PG_FUNCTION_ARGS)
{
	return time_call(fcinfo, repalloc_only, 3);
}

/*
 * time_mallocs(bytes int, times bigint) returns float8: nanoseconds of one
 * malloc and free
 */
Datum
time_mallocs(PG_FUNCTION_ARGS)
{
	return time_call(fcinfo, malloc_and_free, 0);
}

/*
 * time_unwind(depth int, times bigint) returns float8: nanoseconds of one
 * backtrace by libunwind, of the same stack and nothing else
 */
Datum
time_unwind(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(time_function(unwind_only, PG_GETARG_INT32(0),
								   PG_GETARG_INT64(1), 0));
}
