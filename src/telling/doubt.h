/*
 * doubt.h
 *	  Why there is no verdict on a process: all is well, it is too early, or a part
 *	  of its memory can't be seen.
 *
 * Never called inside palloc.
 */
#ifndef PLH_DOUBT_H
#define PLH_DOUBT_H

#include "judge/course.h"
#include "judge/suspect_list.h"
#include "report/stack_text.h"
#include "telling/explained_process.h"
#include "telling/found_doubt.h"

/*
 * "list" and "stacks" are NULL without a profile; "course" is zeros without a history.
 */
extern PlhDoubt plh_doubt_find(const PlhExplainedProcess *process,
							   const PlhCourse *course,
							   const PlhSuspectList *list,
							   PlhSymbols *symbols, PlhStackTexts *stacks);

#endif							/* PLH_DOUBT_H */
