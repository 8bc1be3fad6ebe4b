/*
 * census_portals.h
 *	  Which portals, such as cursors, hold what statements have: found by a census.
 *
 * These functions are a census' own: they are called inside palloc, but not in a critical section.
 */
#pragma once

#include "nodes/memnodes.h"

#include "profile/profile_layout.h"

/* A census begins. */
extern void plh_census_portals_start(void);

/* It has met a context, behind the context's parent and the parent's earlier children. */
extern void plh_census_portals_count(MemoryContext context, PlhLifetime lifetime, int64 bytes);

/* It has counted all contexts: note in the header what the largest portals are. */
extern void plh_census_portals_keep(void);

/*
 * A message is over, and so is what ran for it: of the portals that ran when the last census met
 * them, those that are there still are open.
 */
extern void plh_census_portals_settle(void);
