/*
 * leaker.c
 *	  A module that leaks on purpose: known bytes, from named functions.
 *
 * Each leak_* function allocates in a function of its own that is never
 * inlined, so that tests can assert the name.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
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
PG_FUNCTION_INFO_V1(hold_in_list);
PG_FUNCTION_INFO_V1(hold_on_stack);
PG_FUNCTION_INFO_V1(hold_in_table);
PG_FUNCTION_INFO_V1(hold_by_other_pointers);
PG_FUNCTION_INFO_V1(forget_all);
PG_FUNCTION_INFO_V1(leak_aligned);
PG_FUNCTION_INFO_V1(leak_ring);
PG_FUNCTION_INFO_V1(hold_chunk);
PG_FUNCTION_INFO_V1(release_chunk);
PG_FUNCTION_INFO_V1(refused_allocation);

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

/* A chunk that begins with the address of another one. */
typedef struct Link
{
	struct Link *next;
} Link;

/* What holds the chunks of the functions below, each in its way. */
static Link *held_list;
static HTAB *held_table;
static char *volatile held_inside;
static volatile uint64 held_tagged;

/* hold_in_list(bytes int, times bigint): each chunk points to the one before */
Datum
hold_in_list(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
	{
		Link	   *link = MemoryContextAllocZero(TopMemoryContext, PG_GETARG_INT32(0));

		link->next = held_list;
		held_list = link;
	}
	PG_RETURN_VOID();
}

/* hold_in_table(times bigint): entries of 64 bytes in a hash table */
Datum
hold_in_table(PG_FUNCTION_ARGS)
{
	HASHCTL		control = {
		.keysize = sizeof(int64),.entrysize = 64,.hcxt = TopMemoryContext
	};

	if (held_table == NULL)
		held_table = hash_create("leaker sessions", 64, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (int64 i = 0; i < PG_GETARG_INT64(0); i++)
		hash_search(held_table, &i, HASH_ENTER, NULL);
	PG_RETURN_VOID();
}

/*
 * hold_by_other_pointers(bytes int): two chunks, one held by a pointer into its
 * middle, the other by one with bits of its own at both ends
 */
Datum
hold_by_other_pointers(PG_FUNCTION_ARGS)
{
	Size		bytes = PG_GETARG_INT32(0);

	held_inside = (char *) MemoryContextAllocZero(TopMemoryContext, bytes) + bytes / 2;
	held_tagged = (uint64) MemoryContextAllocZero(TopMemoryContext, bytes) | 5 |
		UINT64CONST(0xFFF8) << 48;
	PG_RETURN_VOID();
}

/* So many chunks hold_on_stack can hold. */
#define MOST_ON_STACK 3000

/*
 * hold_on_stack(bytes int, times bigint): chunks that only variables of this call point to, until
 * it is cancelled.  Each has a variable of its own, and none points to another: an old word that is
 * left over then holds one of them, and not a list behind it.
 */
Datum
hold_on_stack(PG_FUNCTION_ARGS)
{
	void	   *volatile chunks[MOST_ON_STACK];
	int64		times = PG_GETARG_INT64(1);

	if (times > MOST_ON_STACK)
		elog(ERROR, "hold_on_stack holds no more than %d chunks", MOST_ON_STACK);
	for (int64 i = 0; i < times; i++)
		chunks[i] = MemoryContextAllocZero(TopMemoryContext, PG_GETARG_INT32(0));
	while (times == 0 || chunks[times - 1] != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	PG_RETURN_VOID();
}

/* forget_all(): what the functions above hold is lost from now on */
Datum
forget_all(PG_FUNCTION_ARGS)
{
	held_list = NULL;
	held_table = NULL;
	held_inside = NULL;
	held_tagged = 0;
	PG_RETURN_VOID();
}

/* leak_aligned(bytes int, times bigint): chunks at multiples of a page */
Datum
leak_aligned(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
#if PG_VERSION_NUM >= 160000
		MemoryContextAllocAligned(TopMemoryContext, PG_GETARG_INT32(0), 4096, 0);
#else
		leaking_in(TopMemoryContext, PG_GETARG_INT32(0));
#endif
	PG_RETURN_VOID();
}

/* leak_ring(bytes int, times bigint): chunks that hold each other, and nobody holds one */
Datum
leak_ring(PG_FUNCTION_ARGS)
{
	Link	   *first = NULL;
	Link	   *last = NULL;

	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
	{
		Link	   *link = MemoryContextAllocZero(TopMemoryContext, PG_GETARG_INT32(0));

		link->next = last;
		last = link;
		if (first == NULL)
			first = link;
	}
	if (first != NULL)
		first->next = last;
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
