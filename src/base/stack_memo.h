/*
 * stack_memo.h
 *	  Remembers whole stacks, so that unwinding need not start over.
 *
 * What a stack is follows from where it starts, the rules of the code on it, and
 * some words of memory: the return addresses, and the frame pointers that were
 * saved and from which a frame is found.  A stack that starts at the same place is
 * the one that was remembered, if these words are still there: whatever was called,
 * returned, or jumped to in between.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock,
 * and are not reentrant.
 */
#ifndef PLH_STACK_MEMO_H
#define PLH_STACK_MEMO_H

#include "base/unwind_rules.h"

/* Deeper stacks are not remembered. */
#define PLH_MEMO_FRAMES 96

/* Where a stack starts: registers of a function, about to be returned to. */
typedef struct PlhStackStart
{
	uintptr_t	address;
	uintptr_t	stack_pointer;
	uintptr_t	frame_pointer;
} PlhStackStart;

/* A walk to the outermost frame, and what it went by. */
typedef struct PlhStackWalk
{
	int			depth;
	int			word_count;
	bool		uses_frame_pointer; /* the one that it started with */
	bool		is_trusted;		/* each of its rules is */
	bool		is_cut;			/* there are more frames than were wanted */
	uintptr_t	addresses[PLH_MEMO_FRAMES];
	uint32		offsets[2 * PLH_MEMO_FRAMES];	/* of words, from the first
												 * stack pointer, in bytes */
	uintptr_t	words[2 * PLH_MEMO_FRAMES];
} PlhStackWalk;

/* Where a profile has a stack, as of some state of the profile. */
typedef struct PlhKnownStack
{
	uint32		generation;		/* of that state; 0: none */
	uint32		offset;
} PlhKnownStack;

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
	uint16		word_count;
	uintptr_t	data[FLEXIBLE_ARRAY_MEMBER];	/* addresses, words, offsets */
} PlhStackMemo;

/* The return addresses of a stack that is remembered, the innermost first. */
static inline const uintptr_t *
plh_stack_memo_addresses(const PlhStackMemo *memo)
{
	return memo->data;
}

extern void plh_stack_memo_start(void);
extern PlhStackMemo *plh_stack_memo_find(const PlhStackStart *start);
extern bool plh_stack_memo_walk(PlhStackWalk *walk, const PlhStackStart *start,
								int max_depth);
extern void plh_stack_memo_judge(const PlhStackWalk *walk, bool is_right);
extern PlhStackMemo *plh_stack_memo_add(const PlhStackStart *start,
										const PlhStackWalk *walk,
										Size room);
extern void plh_stack_memo_forget(void);

#endif							/* PLH_STACK_MEMO_H */
