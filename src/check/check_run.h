/*
 * check_run.h
 *	  What a leak check is to do, what it has found, and what its parts share meanwhile.
 */
#pragma once

#include "nodes/pg_list.h"

#include "check/found_leaks.h"
#include "sampler/planned_failure.h"

/* What is to fail. */
typedef enum PlhCheckFail
{
	PLH_FAIL_NOTHING,
	PLH_FAIL_STATEMENT,			/* the statement, as it raises an error */
	PLH_FAIL_EACH				/* each of its allocations, one at a time */
} PlhCheckFail;

/* Tells which allocation is to fail next. */
typedef void (*PlhFailureTracer) (const PlhPlannedFailure *failure, void *argument);

typedef struct PlhLeakCheckPlan
{
	const char *query;
	int			iterations;		/* at least 2 */
	int			warmup;			/* executions before these */
	PlhCheckFail fail;
	PlhFailureTracer trace;		/* NULL: nobody asks */
	void	   *trace_argument;
	bool		bounded;		/* takes little room for its profile, which
								 * lies in memory that is all sessions' */
} PlhLeakCheckPlan;

typedef struct PlhLeakCheck
{
	PlhLeaks	found;			/* in the caller's memory context */
	int64		malloc_bytes;	/* the least that each iteration adds outside
								 * of memory contexts, beside the leaks of
								 * malloc; 0: none for sure */

	/* PLH_FAIL_STATEMENT: */
	int			executions;
	int			raised;			/* how many ended with an error */
	const char *error;			/* the first, in the caller's memory context */

	/* PLH_FAIL_EACH: */
	int64		allocations;	/* that the statement makes, and that may fail */
	int64		failed;			/* how many of them were made to */
} PlhLeakCheck;

/* A check that is running. */
typedef struct PlhCheckRun
{
	const PlhLeakCheckPlan *plan;
	const List *statements;
	int64		lost_before;	/* samples, when it began */
	MemoryContext memory;		/* of what is found: the caller's */
	PlhLeakCheck *check;
} PlhCheckRun;

extern void plh_check_run_settle(const PlhCheckRun *run);
