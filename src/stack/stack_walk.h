/*
 * stack_walk.h
 *	  Walks over the stack by rules, and notes what it goes by.
 *
 * Only what lies wholly in the stack of the process is looked at, which is mapped from the stack
 * pointer up to its end.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock, and are not
 * reentrant.
 */
#pragma once

#include "stack/call_frame_info.h"

/* A walk is not longer than this, and not over more frames of compiled code. */
#define PLH_WALK_FRAMES 96
#define PLH_WALK_COMPILED 16

/* Where a stack starts: registers of a function, about to be returned to. */
typedef struct PlhStackStart
{
	uintptr_t	address;
	uintptr_t	stack_pointer;
	uintptr_t	frame_pointer;
} PlhStackStart;

/* A frame of code that was compiled at run time. */
typedef struct PlhCompiledFrame
{
	int			index;			/* among the addresses */
	PlhStackStart caller;
} PlhCompiledFrame;

/* A walk to the outermost frame, and what it went by. */
typedef struct PlhStackWalk
{
	int			depth;
	int			word_count;
	int			compiled_count;
	bool		uses_frame_pointer; /* the one that it started with */
	bool		is_trusted;		/* each rule of a module's code is */
	bool		is_cut;			/* there are more frames than were wanted */
	uintptr_t	addresses[PLH_WALK_FRAMES];
	uintptr_t	places[PLH_WALK_FRAMES];	/* on the stack, of all but the
											 * first */
	uint32		offsets[2 * PLH_WALK_FRAMES];	/* of words, from the first
												 * stack pointer, in bytes */
	uintptr_t	words[2 * PLH_WALK_FRAMES];
	PlhCompiledFrame compiled[PLH_WALK_COMPILED];
} PlhStackWalk;

/* The process' stack does not get below the first of these. */
extern uintptr_t plh_stack_walk_low;
extern uintptr_t plh_stack_walk_end;

/* Is that in the stack of the process, so that it can be read from there on? */
static inline bool
plh_stack_walk_may_start(const PlhStackStart *start)
{
	return start->stack_pointer >= plh_stack_walk_low && start->stack_pointer < plh_stack_walk_end;
}

/* AddressSanitizer does not let anybody read other functions' frames. */
#define PLH_NO_SANITIZER __attribute__((no_sanitize("address")))

static inline PLH_NO_SANITIZER uintptr_t
plh_stack_walk_word(uintptr_t address)
{
	return *(const volatile uintptr_t *) address;
}

extern void plh_stack_walk_learn_stack(void);
extern bool plh_stack_walk_innermost(PlhStackWalk *walk, const PlhStackStart *start, int depth);
extern bool plh_stack_walk(PlhStackWalk *walk, const PlhStackStart *start, int max_depth);
extern void plh_stack_walk_forget_rules(void);
extern void plh_stack_walk_judge(const PlhStackWalk *walk, bool equals_libunwind);
