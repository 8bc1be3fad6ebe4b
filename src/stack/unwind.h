/*
 * unwind.h
 *	  The stack of the running function, through libunwind or as remembered.
 *
 * plh_unwind_start is called once, outside palloc, when pg_leakhunt is loaded: it lets libunwind
 * and the dynamic linker do their lazy initialization.  After that, plh_unwind_capture may be
 * called inside palloc; it never pallocs or throws.  No other file calls libunwind.
 */
#pragma once

#include "base/limits.h"
#include "stack/stack_memo.h"

/* At most this many frames, which are ours and the allocator's, are skipped. */
#define PLH_MAX_SKIPPED 12

/* The most functions of ours that libunwind may see before these. */
#define PLH_MAX_OWN 6

/* A captured stack. */
typedef struct PlhStack
{
	const uintptr_t *addresses; /* return addresses, innermost first */
	int			depth;			/* number of addresses */
	int			routines;		/* so many of these are frames of routines */
	bool		truncated;		/* the stack was deeper */
	PlhKnownStack *known;		/* where the profile has it; NULL: not kept */

	/* all addresses from libunwind, with our frames and the allocator's */
	uintptr_t	buffer[PLH_MAX_FRAMES + PLH_MAX_SKIPPED + 1 + PLH_MAX_OWN];
} PlhStack;

/* How many stacks of ours were compared with libunwind's. */
extern uint64 plh_unwind_compared_stacks;

/*
 * How often a stack that was remembered, or walked over by rules that are trusted, was not what
 * libunwind finds.  Since the first time libunwind alone is asked.
 */
extern uint32 plh_unwind_wrong_stacks;

extern void plh_unwind_start(void);

/* Called at that time, too: the frames of the module that has the address are skipped. */
extern void plh_unwind_skip_text_of(const void *address);
extern bool plh_unwind_function_of(uintptr_t address, PlhCodeRange *function);
extern void plh_unwind_capture(PlhStack *stack, int max_depth, bool is_frequent);
extern void plh_unwind_find_places(const PlhStack *stack, const uintptr_t *places,
								   int count, int *indexes);
