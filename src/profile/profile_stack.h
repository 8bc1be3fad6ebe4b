/*
 * profile_stack.h
 *	  The owner's side of a profile: records of stacks, and of the modules that their
 *	  frames are in.
 *
 * profile.h says how these functions may be called.  What begins and forgets belongs to
 * profile.c.
 */
#ifndef PLH_PROFILE_STACK_H
#define PLH_PROFILE_STACK_H

#include "stack/unwind.h"

extern void plh_profile_stack_begin(void);
extern void plh_profile_stack_forget(void);
extern uint32 plh_profile_stack(const PlhStack *captured);

#endif							/* PLH_PROFILE_STACK_H */
