/*
 * lifetime.h
 *	  How long what is allocated in a memory context is meant to live.
 *
 * Callable inside palloc; only follows parent pointers.
 */
#ifndef PLH_LIFETIME_H
#define PLH_LIFETIME_H

#include "profile/profile_layout.h"

extern PlhLifetime plh_lifetime_of(MemoryContext context);

#endif							/* PLH_LIFETIME_H */
