/*
 * current_routines.h
 *	  The routines that an allocation is made in, as frames of its stack.
 *
 * These functions may be called inside palloc and malloc, under the guard, except in a
 * critical section, by a process that has a profile.
 */
#ifndef PLH_CURRENT_ROUTINES_H
#define PLH_CURRENT_ROUTINES_H

#include "stack/unwind.h"

extern void plh_current_routines_add_found(PlhStack *stack);

/* Add them to a stack that has just been captured. */
static pg_attribute_always_inline void
plh_current_routines_add(PlhStack *stack)
{
	if (unlikely(error_context_stack != NULL))
		plh_current_routines_add_found(stack);
}

#endif							/* PLH_CURRENT_ROUTINES_H */
