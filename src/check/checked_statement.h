/*
 * checked_statement.h
 *	  Runs the statement of a leak check, which may be several, by SPI.
 */
#pragma once

#include "nodes/pg_list.h"

#include "sampler/planned_failure.h"

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

extern List *plh_checked_statement_split(const char *text);
extern void plh_checked_statement_execute(const List *statements, PlhExecution *execution);
