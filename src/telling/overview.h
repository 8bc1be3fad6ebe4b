/*
 * overview.h
 *	  The findings of all processes in a few words: a row for each cause, or one that says that
 *	  there is none.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

#include "telling/explanation.h"

/* A cause, of one process or of several that have it alike. */
typedef struct PlhOverviewRow
{
	int			pid;			/* of the process that has most of it; 0:
								 * there is no finding */
	const char *verdict;
	int64		bytes;			/* in all of them; -1: there is no finding */
	const char *what;
	const char *who;			/* that process, and how many have it */
	const char *next_step;		/* NULL: nothing is to be done */
} PlhOverviewRow;

typedef struct PlhOverview
{
	bool		sees_all;		/* the reader may see all processes */
	List	   *causes;			/* of PlhCommonCause, which tell a
								 * PlhOverviewRow */
	int			judged;			/* processes that live, without a finding */
	int			unjudged;		/* and those too little is known of */
	int			hidden;			/* findings that are suppressed */
} PlhOverview;

/* Add what was found in a process; texts are copied to "memory". */
extern void plh_overview_enter(PlhOverview *overview, const PlhExplainedProcess *process,
							   const PlhExplanation *explanation, MemoryContext memory);

/*
 * The rows (PlhOverviewRow), in the current memory context: those of processes that live come
 * first, and of these the growing ones last, as they may be no fault; then the largest.
 */
extern List *plh_overview_rows(PlhOverview *overview);
