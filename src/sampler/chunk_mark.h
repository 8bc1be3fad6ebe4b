/*
 * chunk_mark.h
 *	  Tells a chunk that may be a sample from one that is none.
 *
 * From PostgreSQL 17 on, sampled chunks are marked.  Each chunk has a header with a method id of 4
 * bits, which says where pfree and repalloc find the methods of its type of context.  Seven ids are
 * spare: a sampled chunk gets one of them, whose methods are ours.  Each type has a spare id of its
 * own, so that the chunk's own id can be restored without any look-up.  Other chunks are freed as
 * if we were not there.
 *
 * Before 17 there are no spare ids, and every free asks sample_filter.h.
 *
 * These functions may be called inside palloc.  test/lint counts this file, like method_patch.c,
 * among those that know PostgreSQL's layout.
 */
#pragma once

#include "base/compat.h"

/* For tests, -DPLH_MARKS_CHUNKS=0 treats later servers as 16 is. */
#ifndef PLH_MARKS_CHUNKS
#define PLH_MARKS_CHUNKS (PG_VERSION_NUM >= 170000)
#endif

#if PLH_MARKS_CHUNKS
#include "utils/memdebug.h"
#include "utils/memutils_internal.h"
#include "utils/memutils_memorychunk.h"

/* The id of a marked chunk is this much greater than its type's own. */
#define PLH_MARK (MCTX_8_UNUSED_ID - MCTX_ASET_ID)

StaticAssertDecl(MEMORY_CONTEXT_METHODID_BITS == 4, "method ids do not have 4 bits");
StaticAssertDecl(offsetof(MemoryChunk, hdrmask) + sizeof(uint64) == sizeof(MemoryChunk),
				 "the header is not what precedes a chunk");
StaticAssertDecl(MCTX_ASET_ID + PLH_MARK == MCTX_8_UNUSED_ID &&
				 MCTX_GENERATION_ID + PLH_MARK == MCTX_9_UNUSED_ID &&
				 MCTX_SLAB_ID + PLH_MARK == MCTX_10_UNUSED_ID,
				 "method ids are not what they were");

/*
 * The method id of a chunk, with which the word before it ends.  PostgreSQL's own code reads it the
 * same way; under Valgrind it must be made accessible first.
 */
static inline int
plh_chunk_method_id(const void *pointer)
{
	uint64	   *header = (uint64 *) pointer - 1;
	int			method_id;

	VALGRIND_MAKE_MEM_DEFINED(header, sizeof(uint64));
	method_id = *header & MEMORY_CONTEXT_METHODID_MASK;
	VALGRIND_MAKE_MEM_NOACCESS(header, sizeof(uint64));
	return method_id;
}

static inline void
plh_chunk_shift_method_id(const void *pointer, int by)
{
	uint64	   *header = (uint64 *) pointer - 1;

	VALGRIND_MAKE_MEM_DEFINED(header, sizeof(uint64));
	*header += by;
	VALGRIND_MAKE_MEM_NOACCESS(header, sizeof(uint64));
}

static inline bool
plh_chunk_may_be_sample(const void *pointer)
{
	return plh_chunk_method_id(pointer) >= MCTX_8_UNUSED_ID;
}

/* Need the slow path look at a chunk?  A mark is exact. */
#define plh_chunk_is_near_sample(pointer) plh_chunk_may_be_sample(pointer)

/* Mark a sampled chunk, which must have its type's own id. */
static inline void
plh_chunk_mark(const void *pointer)
{
	/* a mark that was left in freed memory would show up here */
	Assert(plh_chunk_method_id(pointer) < MCTX_8_UNUSED_ID);
	plh_chunk_shift_method_id(pointer, PLH_MARK);
}

/* Give a marked chunk its own id back. */
static inline void
plh_chunk_unmark(const void *pointer)
{
	Assert(plh_chunk_method_id(pointer) >= MCTX_8_UNUSED_ID);
	plh_chunk_shift_method_id(pointer, -PLH_MARK);
}

#else
#include "sampler/sample_filter.h"

#define plh_chunk_is_near_sample(pointer) plh_sample_filter_is_near(pointer)
#define plh_chunk_may_be_sample(pointer) plh_sample_filter_has(pointer)
#define plh_chunk_mark(pointer)		((void) 0)
#define plh_chunk_unmark(pointer)	((void) 0)

#endif							/* PLH_MARKS_CHUNKS */
