/*
 * unwind.h
 *	  The stack of the running function, through libunwind.
 *
 * plh_unwind_start is called once, outside palloc, when pg_leakhunt is loaded:
 * it lets libunwind and the dynamic linker do their lazy initialization.
 * After that, plh_unwind_capture and then plh_unwind_trim may be called inside
 * palloc; they never palloc or throw.  No other file calls libunwind.
 */
#ifndef PLH_UNWIND_H
#define PLH_UNWIND_H

#include "base/limits.h"

/* At most this many frames, ours and the allocator's, are skipped. */
#define PLH_MAX_SKIPPED 12

/* A captured stack. */
typedef struct PlhStack
{
	const uintptr_t *addresses; /* return addresses, innermost first */
	int			depth;			/* number of addresses */
	bool		truncated;		/* the stack was deeper */

	/* all addresses from libunwind, with our frames and the allocator's */
	uintptr_t	buffer[PLH_MAX_FRAMES + PLH_MAX_SKIPPED + 1];
} PlhStack;

extern void plh_unwind_start(void);
extern void plh_unwind_skip_text_of(const void *address);
extern bool plh_unwind_function_of(uintptr_t address, uintptr_t *start,
								   uintptr_t *end);
extern int	plh_unwind_capture(PlhStack *stack, int max_depth);
extern void plh_unwind_trim(PlhStack *stack, int captured, int max_depth);

#endif							/* PLH_UNWIND_H */
