/*
 * explanation.h
 *	  What a DBA would say of a process, in a few sentences: who it is, how large and of what,
 *	  since when it grows and by what, the verdict or why there is none, and the next step.
 *
 * Nothing is said that the views do not say, too; who calls this has looked whether the reader may
 * see the process.  Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"
#include "telling/doubt.h"
#include "telling/suppression.h"
#include "telling/told_finding.h"

typedef struct PlhExplanation
{
	PlhSaid		text;
	List	   *told;			/* of PlhToldFinding, all that are not
								 * suppressed; the first three are in the text */
	int			hidden;			/* findings that are suppressed */
	const PlhDoubt *doubt;		/* why there is none; else NULL */
	const char *nameless;		/* path of a binary without names; else NULL */
	const PlhAccount *account;	/* NULL without a profile */
	int64		own_bytes;		/* -1: not known */
	PlhCourse	course;			/* of these; zeros without a history */
} PlhExplanation;

/* In the current memory context, referring to the process' image. */
extern PlhExplanation *plh_explanation_make(const PlhExplainedProcess *process, PlhSymbols *symbols,
											const PlhSuppressions *suppressions);
