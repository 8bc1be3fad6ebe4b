/*
 * corner_cases.c
 *	  A module that allocates in the less usual ways: aligned, huge, refused,
 *	  garbage sizes, Bump contexts, critical sections; and holds interrupts.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "postmaster/interrupt.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "sampler/chunk_mark.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(leak_aligned);
PG_FUNCTION_INFO_V1(aligned_in_balance);
PG_FUNCTION_INFO_V1(hold_huge);
PG_FUNCTION_INFO_V1(release_huge);
PG_FUNCTION_INFO_V1(refused_growth);
PG_FUNCTION_INFO_V1(garbage_size);
PG_FUNCTION_INFO_V1(fill_bump);
PG_FUNCTION_INFO_V1(delete_bump);
PG_FUNCTION_INFO_V1(free_in_critical_section);
PG_FUNCTION_INFO_V1(leak_in_transaction);
PG_FUNCTION_INFO_V1(leak_malloc);
PG_FUNCTION_INFO_V1(malloc_in_use);
PG_FUNCTION_INFO_V1(free_unseen);
PG_FUNCTION_INFO_V1(reserve_addresses);
PG_FUNCTION_INFO_V1(leak_in_vdso);
PG_FUNCTION_INFO_V1(leak_by_unloaded);
PG_FUNCTION_INFO_V1(pfree_is_untouched);
PG_FUNCTION_INFO_V1(allocate_in_deleted);
PG_FUNCTION_INFO_V1(hold_interrupts);

extern PGDLLEXPORT void leaking_for_others(void);

static pg_noinline void *
allocating_aligned(Size bytes, Size alignment)
{
#if PG_VERSION_NUM >= 160000
	return MemoryContextAllocAligned(TopMemoryContext, bytes, alignment, 0);
#else
	elog(ERROR, "aligned allocation came with PostgreSQL 16");
#endif
}

/* hold_interrupts(): until the process gets SIGHUP; how often they did not stay held */
Datum
hold_interrupts(PG_FUNCTION_ARGS)
{
	int			lost = 0;

	HOLD_INTERRUPTS();
	while (!ConfigReloadPending)
	{
		CHECK_FOR_INTERRUPTS();
		if (InterruptHoldoffCount != 1)
			lost++;
		InterruptHoldoffCount = 1;
	}
	RESUME_INTERRUPTS();
	PG_RETURN_INT32(lost);
}

/* leak_aligned(bytes int, alignment int, times bigint) */
Datum
leak_aligned(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(2); i++)
	{
		void	   *chunk = allocating_aligned(PG_GETARG_INT32(0),
											   PG_GETARG_INT32(1));

		if ((uintptr_t) chunk % PG_GETARG_INT32(1) != 0)
			elog(ERROR, "%p is not aligned", chunk);
	}
	PG_RETURN_VOID();
}

/* aligned_in_balance(bytes int, alignment int, times bigint) */
Datum
aligned_in_balance(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(2); i++)
	{
		Size		bytes = PG_GETARG_INT32(0);
		char	   *chunk = allocating_aligned(bytes, PG_GETARG_INT32(1));

		chunk[bytes - 1] = 'x';
		chunk = repalloc(chunk, 2 * bytes);
		if (chunk[bytes - 1] != 'x' ||
			GetMemoryChunkContext(chunk) != TopMemoryContext ||
			GetMemoryChunkSpace(chunk) < 2 * bytes)
			elog(ERROR, "a chunk was damaged");
		pfree(chunk);
	}
	PG_RETURN_VOID();
}

static void *huge_chunk;

/* hold_huge(bytes bigint): one chunk that release_huge() frees */
Datum
hold_huge(PG_FUNCTION_ARGS)
{
	huge_chunk = MemoryContextAllocHuge(TopMemoryContext, 1);
	huge_chunk = repalloc_huge(huge_chunk, PG_GETARG_INT64(0));
	PG_RETURN_VOID();
}

Datum
release_huge(PG_FUNCTION_ARGS)
{
	pfree(huge_chunk);
	PG_RETURN_VOID();
}

/* Grow a chunk to a size that is refused with an error. */
static void
grow_in_vain(char *chunk, Size bytes)
{
	MemoryContext caller_context = CurrentMemoryContext;

	PG_TRY();
	{
		chunk = repalloc_huge(chunk, bytes);
		elog(FATAL, "%zu bytes were not refused", bytes);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller_context);
		FlushErrorState();
	}
	PG_END_TRY();
}

/*
 * refused_growth(bytes bigint, then_free bool): a chunk that can't be grown, by
 * an error, by NULL and by an error about the size; afterwards it is there, and
 * can be grown, and freed.
 */
Datum
refused_growth(PG_FUNCTION_ARGS)
{
	char	   *chunk = MemoryContextAlloc(TopMemoryContext, 100);

	chunk[99] = 'x';
	grow_in_vain(chunk, PG_GETARG_INT64(0));
	grow_in_vain(chunk, (Size) -8);
#if PG_VERSION_NUM >= 160000
	if (repalloc_extended(chunk, PG_GETARG_INT64(0),
						  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM) != NULL)
		elog(ERROR, "it was not refused");
#endif
	chunk = repalloc(chunk, 10000);
	if (chunk[99] != 'x')
		elog(ERROR, "the chunk was damaged");
	if (PG_GETARG_BOOL(1))
		pfree(chunk);
	PG_RETURN_VOID();
}

/* garbage_size(bytes bigint): as of a corrupt varlena; always an error */
Datum
garbage_size(PG_FUNCTION_ARGS)
{
	(void) MemoryContextAlloc(TopMemoryContext, PG_GETARG_INT64(0));
	PG_RETURN_VOID();
}

static MemoryContext bump_context;

static pg_noinline void
filling_bump(int32 bytes)
{
	(void) MemoryContextAlloc(bump_context, bytes);
}

/* fill_bump(bytes int, times bigint): into a Bump context */
Datum
fill_bump(PG_FUNCTION_ARGS)
{
#if PLH_HAVE_BUMP
	bump_context = BumpContextCreate(TopMemoryContext, "leaker bump",
									 ALLOCSET_DEFAULT_SIZES);
#endif
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		filling_bump(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

Datum
delete_bump(PG_FUNCTION_ARGS)
{
	MemoryContextDelete(bump_context);
	PG_RETURN_VOID();
}

/*
 * free_in_critical_section(bytes int, times int): chunks that are allocated
 * before one, grown in it, and freed in it
 */
Datum
free_in_critical_section(PG_FUNCTION_ARGS)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "leaker critical",
												  ALLOCSET_DEFAULT_SIZES);
	int			times = PG_GETARG_INT32(1);
	void	  **chunks = palloc(sizeof(void *) * times);

	MemoryContextAllowInCriticalSection(context, true);
	for (int i = 0; i < times; i++)
		chunks[i] = MemoryContextAlloc(context, PG_GETARG_INT32(0));
	START_CRIT_SECTION();
	for (int i = 0; i < times; i++)
		chunks[i] = repalloc(chunks[i], 3 * PG_GETARG_INT32(0));
	for (int i = 0; i < times; i++)
		pfree(chunks[i]);
	END_CRIT_SECTION();
	PG_RETURN_VOID();
}

/* leak_in_transaction(bytes int, times bigint): until the (sub)transaction ends */
Datum
leak_in_transaction(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		(void) MemoryContextAlloc(CurTransactionContext, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

/* leak_malloc(bytes int, times bigint): outside of all memory contexts */
Datum
leak_malloc(PG_FUNCTION_ARGS)
{
	static void *volatile last;

	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
		last = malloc(PG_GETARG_INT32(0));
	PG_RETURN_BOOL(last != NULL);
}

/* malloc_in_use(): the bytes that malloc has given out, to contexts and all others */
Datum
malloc_in_use(PG_FUNCTION_ARGS)
{
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	PG_RETURN_INT64(info.uordblks + info.hblkhd);
#else
	PG_RETURN_INT64(0);
#endif
}

/* What libc calls its own function, past all that replaces it. */
extern void __libc_free(void *block);

/* free_unseen(bytes int, times bigint): blocks of malloc, which free never gets */
Datum
free_unseen(PG_FUNCTION_ARGS)
{
	for (int64 i = 0; i < PG_GETARG_INT64(1); i++)
	{
		void	   *volatile block = malloc(PG_GETARG_INT32(0));

		__libc_free(block);
	}
	PG_RETURN_VOID();
}

/* reserve_addresses(bytes bigint): as if so much were mapped, without memory */
Datum
reserve_addresses(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(mmap(NULL, PG_GETARG_INT64(0), PROT_NONE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
						-1, 0) != MAP_FAILED);
}

static volatile sig_atomic_t handler_calls;

static void
leaking_handler(int signal_number)
{
	int			saved_errno = errno;

	(void) MemoryContextAlloc(TopMemoryContext, 10000);
	handler_calls++;
	errno = saved_errno;
}

/*
 * leak_in_vdso(times int): from a signal handler, while nothing is done but to
 * ask for the time, which the kernel's vDSO tells
 */
Datum
leak_in_vdso(PG_FUNCTION_ARGS)
{
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	struct itimerval no_timer = {{0, 0}, {0, 0}};
	struct timespec now;

	handler_calls = 0;
	signal(SIGVTALRM, leaking_handler);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	while (handler_calls < PG_GETARG_INT32(0))
		clock_gettime(CLOCK_MONOTONIC, &now);
	setitimer(ITIMER_VIRTUAL, &no_timer, NULL);
	signal(SIGVTALRM, SIG_DFL);
	PG_RETURN_VOID();
}

void
leaking_for_others(void)
{
	(void) MemoryContextAlloc(TopMemoryContext, 1000000);
}

/*
 * leak_by_unloaded(path text): by a copy of this module at that path, which is
 * loaded for it and unloaded again
 */
Datum
leak_by_unloaded(PG_FUNCTION_ARGS)
{
	void	   *library = dlopen(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								 RTLD_NOW | RTLD_LOCAL);
	void		(*leaking) (void);

	if (library == NULL)
		elog(ERROR, "%s", dlerror());
	leaking = (void (*) (void)) dlsym(library, "leaking_for_others");
	leaking();
	PG_RETURN_BOOL(dlclose(library) == 0);
}

/*
 * pfree_is_untouched(): does pfree of a chunk that is no sample lead straight
 * to the server's own function?
 */
Datum
pfree_is_untouched(PG_FUNCTION_ARGS)
{
#if PLH_MARKS_CHUNKS
	const MemoryContextMethods *methods =
		TopMemoryContext->methods - MCTX_ASET_ID;

	PG_RETURN_BOOL(methods[MCTX_ASET_ID].free_p == AllocSetFree &&
				   methods[MCTX_GENERATION_ID].free_p == GenerationFree &&
				   methods[MCTX_SLAB_ID].free_p == SlabFree &&
				   methods[MCTX_8_UNUSED_ID].free_p != AllocSetFree &&
				   methods[MCTX_8_UNUSED_ID].get_chunk_context ==
				   AllocSetGetChunkContext);
#else
	PG_RETURN_BOOL(false);
#endif
}

static pg_noinline void *
allocating_in_deleted(MemoryContext context, Size bytes)
{
	return MemoryContextAlloc(context, bytes);
}

static pg_noinline void *
allocating_in_next(MemoryContext context, Size bytes)
{
	return MemoryContextAlloc(context, bytes);
}

/*
 * allocate_in_deleted(bytes int): as code does that switches back to a context which is
 * gone.  The server makes the next context of the same place.
 */
Datum
allocate_in_deleted(PG_FUNCTION_ARGS)
{
	MemoryContext deleted = AllocSetContextCreate(TopMemoryContext, "deleted context",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext next;

	MemoryContextDelete(deleted);
	(void) allocating_in_deleted(deleted, PG_GETARG_INT32(0));
	next = AllocSetContextCreate(TopMemoryContext, "next context", ALLOCSET_SMALL_SIZES);
	if (next != deleted)
		elog(ERROR, "the next context is elsewhere");
	(void) allocating_in_next(next, PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}
