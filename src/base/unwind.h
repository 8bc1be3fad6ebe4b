/*
 * unwind.h
 *	  The stack of the running function, through libunwind.
 *
 * plh_unwind_start is called once when the module is loaded, outside palloc:
 * it lets libunwind and the dynamic linker do their lazy initialization.
 * After that, plh_unwind_capture and then plh_unwind_trim are callable inside
 * palloc; they neither palloc nor throw.  No other file calls libunwind.
 */
#ifndef PLH_UNWIND_H
#define PLH_UNWIND_H

#include "base/limits.h"

/* Frames that can lie above the caller of palloc: ours and the allocator's. */
#define PLH_MAX_SKIPPED 12

/* A stack, as it was captured. */
typedef struct PlhStack
{
	const uintptr_t *addresses; /* return addresses, innermost first */
	int			depth;			/* number of addresses */
	bool		truncated;		/* the stack went on */

	/* what libunwind saw, our own frames and the allocator's included */
	uintptr_t	buffer[PLH_MAX_FRAMES + PLH_MAX_SKIPPED + 1];
} PlhStack;

extern void plh_unwind_start(void);
extern int	plh_unwind_capture(PlhStack *stack, int max_depth);
extern void plh_unwind_trim(PlhStack *stack, int captured, int max_depth);

#endif							/* PLH_UNWIND_H */
