/*
 * doubt.h
 *	  Why there is no verdict on a process: all is well, it is too early, or a part
 *	  of its memory can't be seen.
 *
 * Never called inside palloc.
 */
#ifndef PLH_DOUBT_H
#define PLH_DOUBT_H

#include "report/stack_text.h"
#include "verdict/course.h"
#include "verdict/explained_process.h"
#include "verdict/suspect_list.h"

typedef struct PlhDoubt
{
	const char *reason;			/* sentences */
	const char *next;			/* a sentence; NULL if there is nothing to do */
	const char *nameless;		/* path of the binary of a site that is told
								 * without a name; else NULL */
	bool		is_undecided;	/* there may be a verdict later */
} PlhDoubt;

/*
 * "list" and "stacks" are NULL without a profile; "course" is zeros without a history.
 */
extern PlhDoubt plh_doubt_find(const PlhExplainedProcess *process,
							   const PlhCourse *course,
							   const PlhSuspectList *list,
							   PlhSymbols *symbols, PlhStackTexts *stacks);

#endif							/* PLH_DOUBT_H */
