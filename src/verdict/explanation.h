/*
 * explanation.h
 *	  What a DBA would say of a process, in a few sentences: who it is, how large
 *	  and of what, since when it grows and by what, the verdict or why there is
 *	  none, and the next step.
 *
 * Nothing is said that the views do not say, too; who calls this has looked
 * whether the reader may see the process.  Never called inside palloc.
 */
#ifndef PLH_EXPLANATION_H
#define PLH_EXPLANATION_H

#include "nodes/pg_list.h"
#include "symbols/symbols.h"
#include "verdict/doubt.h"
#include "verdict/suppression.h"

/* A finding as it is told; a NULL text is not known, or does not apply. */
typedef struct PlhToldFinding
{
	const char *verdict;
	const char *cause;			/* "at leaking_top (leaker.c:55) in
								 * TopMemoryContext" */
	const char *site;
	const char *routine;		/* that allocates; NULL if there is none */
	const char *context_name;
	const char *query;
	const char *evidence;
	const char *next;
	int64		bytes;
	int64		error_bytes;
	bool		has_rate;
	int64		bytes_per_hour;
} PlhToldFinding;

typedef struct PlhExplanation
{
	const char *text;			/* sentences, a line each */
	List	   *findings;		/* of PlhToldFinding, all that are not
								 * suppressed */
	const PlhAccount *account;	/* NULL without a profile */
	int64		own_bytes;		/* -1: not known */
} PlhExplanation;

extern PlhExplanation *plh_explanation_make(const PlhExplainedProcess *process,
											PlhSymbols *symbols,
											const PlhSuppressions *suppressions);

/* The same for programs, as an object of JSON. */
extern char *plh_explanation_json(const PlhExplainedProcess *process,
								  const PlhExplanation *explanation);

#endif							/* PLH_EXPLANATION_H */
