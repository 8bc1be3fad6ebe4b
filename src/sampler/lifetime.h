/*
 * lifetime.h
 *	  The lifetime of memory contexts: how long their chunks are meant to live.
 *
 * This function may be called inside palloc: it only follows parent pointers.
 */
#ifndef PLH_LIFETIME_H
#define PLH_LIFETIME_H

#include "profile/profile_layout.h"

extern PlhLifetime plh_lifetime_of(MemoryContext context);

#endif							/* PLH_LIFETIME_H */
