/*
 * unlimited.h
 *	  What a node of a plan uses that no setting limits: aggregates, functions, triggers, indexes.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/execnodes.h"
#include "utils/reltrigger.h"

/* Does the state of an aggregate grow with its rows?  Where that is not known, it is said to. */
extern bool plh_unlimited_is_aggregate(Oid aggregate);

/* Adds the names of functions of a node that may run or keep anything, once each, to the list. */
extern List *plh_unlimited_functions(List *names, const PlanState *planstate);

/* Does a function that returns rows keep nothing but the one that it returns? */
extern bool plh_unlimited_returns_simply(Oid function);

/* Does a scan of that index make bitmaps of its own?  A GIN index does, for each prefix. */
extern bool plh_unlimited_is_index(Oid index);

/* Does a change of a table with these triggers, or NULL, leave an event for each row? */
extern bool plh_unlimited_leaves_events(const TriggerDesc *triggers, CmdType operation);
