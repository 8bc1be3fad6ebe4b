/*
 * stack_memo.h
 *	  Remembers whole stacks, so that unwinding need not start over.
 *
 * What a stack is follows from where it starts, the rules of the code on it, and some words of
 * memory: the return addresses, and the frame pointers that were saved and from which a frame is
 * found.  A stack that starts at the same place is the one that was remembered, if these words are
 * still there: whatever was called, returned, or jumped to in between.  Of code that was compiled
 * at run time, which goes with its query, what surrounds the call must be the same, too.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock, and are not
 * reentrant.
 */
#pragma once

#include "stack/stack_walk.h"

/*
 * Where a profile has a stack, and the site that was its last one, as of some state of the profile.
 */
typedef struct PlhKnownStack
{
	uint32		number;			/* that no other stack has had */
	uint32		generation;		/* of that state; 0: none */
	uint32		offset;
	uint32		site_generation;
	uint32		site;
} PlhKnownStack;

/* Compiled code on a stack that is remembered. */
typedef struct PlhKnownCode
{
	uintptr_t	address;		/* to be returned to */
	uint64		hash;			/* of the bytes around it */
} PlhKnownCode;

/* Two neighbouring words of a stack, which are compared at once. */
typedef uintptr_t PlhWordPair __attribute__((vector_size(16), aligned(8)));

/* A stack that is remembered. */
typedef struct PlhStackMemo
{
	PlhStackStart start;
	uint32		successor;		/* used after this one, the last time */
	PlhKnownStack known;

	/* what users are shown of the addresses */
	uint16		first;
	uint16		depth;
	bool		truncated;

	bool		uses_frame_pointer;
	bool		is_cut;
	uint16		address_count;
	uint16		pair_count;
	uint16		single_count;
	uint16		code_count;

	/*
	 * return addresses, the innermost first; pairs, single words, code,
	 * offsets
	 */
	uintptr_t	data[FLEXIBLE_ARRAY_MEMBER];
} PlhStackMemo;

extern PlhStackMemo *plh_stack_memo_find(const PlhStackStart *start);
extern bool plh_stack_memo_is_of(const PlhStackMemo *memo, const PlhStackWalk *walk);
extern PlhStackMemo *plh_stack_memo_add(const PlhStackStart *start, const PlhStackWalk *walk,
										Size room);
extern void plh_stack_memo_forget(void);
