/*
 * checked_statement.h
 *	  The statement of a leak check, which may be several: what a check is to do with it and has
 *	  found, what its parts share meanwhile, and how it runs, by SPI.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

#include "check/found_leaks.h"
#include "profile/proof_layout.h"
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

/* Proves what of this session's memory is lost; NULL, and a WARNING has said why not. */
typedef const PlhProof *(*PlhProver) (void);

typedef struct PlhLeakCheckPlan
{
	const char *query;
	int			iterations;		/* at least 1; with 1 there is nothing but a
								 * proof */
	int			warmup;			/* executions before these */
	PlhCheckFail fail;
	PlhProver	prove;
	PlhFailureTracer trace;		/* NULL: no one asks */
	void	   *trace_argument;
	bool		bounded;		/* takes little room for its profile, which
								 * lies in memory that is all sessions' */
} PlhLeakCheckPlan;

typedef struct PlhLeakCheck
{
	PlhLeaks	found;			/* in the caller's memory context */
	const PlhProof *proof;		/* the last one, there as well; NULL: none */
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

/* What is lost at some time: without a proof nothing. */
typedef struct PlhCheckLoss
{
	bool		is_proven;
	PlhHeldSeries lost;
} PlhCheckLoss;

/* A check that is running. */
typedef struct PlhCheckRun
{
	const PlhLeakCheckPlan *plan;
	const List *statements;
	int64		lost_before;	/* samples, when it began */
	MemoryContext memory;		/* of what is found: the caller's */
	PlhLeakCheck *check;
} PlhCheckRun;

/* How statements are executed, and what came of it. */
typedef struct PlhExecution
{
	bool		roll_back;		/* their effects, in a subtransaction */
	bool		aloud;			/* the client is to hear of notices */
	bool		takes_errors;	/* an error ends the execution only; with
								 * roll_back */
	MemoryContext error_memory; /* where the error's message is kept; NULL: it
								 * is not */
	PlhPlannedFailure *failure; /* of their allocations; NULL: none */

	bool		raised;			/* it ended with an error */
	const char *error;			/* whose message was this */
} PlhExecution;

/* Get ready for a look at what is held: the catalog caches are emptied, as they are no leak. */
extern void plh_checked_statement_settle(const PlhCheckRun *run);

/* Prove what is lost now.  Without a proof a check of one iteration is an ERROR. */
extern void plh_checked_statement_prove(const PlhCheckRun *run, PlhCheckLoss *loss);

/* Have what is lost at the start and at the end count, if both are proven. */
extern void plh_checked_statement_set_loss(PlhLeakHalves *halves, const PlhCheckLoss *start,
										   const PlhCheckLoss *end);

/* Let errors point into this text, until the caller sets error_context_stack to "previous". */
extern void plh_checked_statement_begin_pointing(ErrorContextCallback *pointing, const char *text);
extern List *plh_checked_statement_parse(const char *text);

/* The statements of a text, as strings.  An ERROR if there are none. */
extern List *plh_checked_statement_split(const char *text);

/* Run them once.  SPI must be connected. */
extern void plh_checked_statement_execute(const List *statements, PlhExecution *execution);
