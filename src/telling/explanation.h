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
#include "telling/doubt.h"
#include "telling/suppression.h"
#include "telling/told_finding.h"

typedef struct PlhExplanation
{
	const char *text;			/* sentences, a line each */
	const char *nameless;		/* path of a binary whose functions are told
								 * without names; else NULL */
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
