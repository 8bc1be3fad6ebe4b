/*
 * malloc_hook.h
 *	  What pg_leakhunt_malloc.so, which stands before malloc, and pg_leakhunt.so know of each
 *	  other.
 *
 * pg_leakhunt_malloc.so exports one PlhMallocHook.  pg_leakhunt.so, if it is loaded, fills in what
 * is to be called.  One thread is sampled, the one that called plh_malloc_hooks_install or was
 * forked; what others allocate is added up in one number, but what they free is looked for, too.
 *
 * Both are built from one tree, but may be of different versions: then the number
 * PLH_MALLOC_HOOK_VERSION differs, and neither has to do with the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any change here changes this number. */
#define PLH_MALLOC_HOOK_VERSION 2
#define PLH_MALLOC_HOOK_NAME "pg_leakhunt_malloc_hook"

/* Allocations of other threads are counted each time they add up to this many bytes. */
#define PLH_MALLOC_OTHER_STEP (UINT64_C(64) * 1024)

/* May be called from signal handlers; none of them changes errno, throws or blocks. */
typedef struct PlhMallocCalls
{
	/*
	 * The sampled thread is about to allocate "size" bytes, no fewer than its
	 * countdown, for a function that continues at "caller".  Starts the
	 * countdown anew, and returns 0, or that the block is to be recorded.
	 */
	uint32_t	(*take) (size_t size, const void *caller);

	/* The sampled thread has allocated it.  The argument is what "take" said. */
	void		(*record) (void *block, size_t size, uint32_t taken);

	/* A block that the filter has is about to be freed, by any thread. */
	void		(*free_block) (void *block, bool sampled_thread);

	/*
	 * A block that the filter has is about to be reallocated, by any thread.
	 * Returns 0, or a number for "moved", to be called in the sampled thread
	 * once it is known whether the old block is gone or, as there was no
	 * memory, stays.
	 */
	uint32_t	(*moving) (void *block, bool sampled_thread);
	void		(*moved) (uint32_t moving, bool is_gone);
} PlhMallocCalls;

typedef struct PlhMallocHook
{
	uint32_t	version;
	uint32_t	bytes;			/* of this struct */

	/* NULL as long as there is nobody to call; set and read atomically */
	const PlhMallocCalls *calls;

	/*
	 * The countdown of the calling thread: an allocation of fewer bytes is
	 * subtracted from it, and any other takes the slow path.
	 */
	uint64_t   *(*countdown) (void);

	/* That of the sampled thread.  Other threads only compare it with theirs. */
	uint64_t   *sampled_countdown;

	/* bytes that other threads have allocated; added to atomically */
	uint64_t	other_bytes;

	/*
	 * A block whose bit is not set is no sample (block_filter.h).  The
	 * sampled thread sets and clears bits; all read them, each byte
	 * atomically.
	 */
	uint8_t    *filter;
} PlhMallocHook;
