/*
 * lifetime.h
 *	  The lifetime of memory contexts: how long their chunks are meant to live.
 *
 * These functions may be called inside palloc: they only follow parent pointers.
 */
#pragma once

#include "access/xact.h"
#include "nodes/memnodes.h"

#include "profile/profile_counters.h"

/*
 * The lifetime that a context has while a statement runs and the context has that parent.  Contexts
 * further up that core is about to hang elsewhere have at once what they will have there.
 */
typedef struct PlhKnownLifetime
{
	MemoryContext parent;
	TimestampTz statement_start;
	PlhLifetime lifetime;
} PlhKnownLifetime;

extern PlhLifetime plh_lifetime_of(MemoryContext context);

/* The live bytes of contexts and blocks that do not end with a transaction. */
static inline int64
plh_lifetime_lasting_bytes(void)
{
	return plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION] +
		plh_profile_counters_held.live_bytes[PLH_LIFETIME_PROCESS];
}

/* Is that still the lifetime of the context that it was noted of? */
static inline bool
plh_lifetime_is_known(const PlhKnownLifetime *known, MemoryContext context)
{
	return known->parent == context->parent &&
		known->statement_start == GetCurrentStatementStartTimestamp();
}

/* Note the lifetime that a context has now. */
static inline void
plh_lifetime_note(PlhKnownLifetime *known, MemoryContext context, PlhLifetime lifetime)
{
	known->parent = context->parent;
	known->statement_start = GetCurrentStatementStartTimestamp();
	known->lifetime = lifetime;
}
