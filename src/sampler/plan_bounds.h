/*
 * plan_bounds.h
 *	  What settings allow to all nodes of a plan together, parallel workers included.
 *
 * These functions only read plans, and may be called inside palloc.
 */
#pragma once

#include "nodes/plannodes.h"

#include "profile/profile_layout.h"

/* How often a plan has what a setting limits, in all processes that run it. */
typedef struct PlhPlanBounds
{
	uint32		sorts;			/* by work_mem: sorts, and rows that are kept */
	uint32		hashes;			/* by hash_mem_multiplier, too */
	uint32		nodes;			/* both, in one process */
	uint32		workers;		/* parallel ones, of all Gathers */
	uint32		visited;
} PlhPlanBounds;

/* Zeros are a valid beginning. */
extern void plh_plan_bounds_add(PlhPlanBounds *bounds, const PlannedStmt *statement);
extern void plh_plan_bounds_add_statements(PlhPlanBounds *bounds, const List *statements);

/* What the settings of a process allow to them, as its profile has these. */
extern int64 plh_plan_bounds_bytes(const PlhPlanBounds *bounds, const PlhProfileHeader *header);
