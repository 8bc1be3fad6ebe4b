/*
 * finding_origin.h
 *	  Where what a finding is about came from: the phase, and the code outside of the server.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"
#include "report/stack_text.h"
#include "report/shared_function.h"
#include "telling/phase.h"

/* What is known of nearly all that was sampled of it. */
typedef struct PlhFindingOrigin
{
	PlhPhase	phase;			/* PLH_PHASE_UNKNOWN: of several, or none */
	int64		percent;		/* that it has; 0 without a phase */
	bool		in_triggers;	/* whatever these did then, such as planning */
	int64		partitions_percent; /* that the planning of partitions has */
	int64		planned_percent[PLH_PLANNED_KINDS];

	/* code that this phase called, and that allocated; NULL: none, or several */
	const char *library;
	const char *language;

	const PlhFamily *family;	/* what is known of the server's own code that
								 * allocated; else NULL */

	bool		is_statistics;	/* of a cache: that is statistics of columns */

	const PlhSharedFunction *shared;	/* that most of it was allocated in or
										 * below; NULL: none, or a call site
										 * says it */
	bool		shared_is_of_phase; /* all of that is of the phase */
} PlhFindingOrigin;

/*
 * Of findings on contexts or on a statement, with the function that is shared.  Without texts of
 * stacks nothing else is known.
 */
extern PlhFindingOrigin plh_finding_origin_find(const PlhFinding *finding,
												const PlhProfileImage *image,
												PlhStackTexts *texts,
												const PlhSharedFunction *shared);
