/*
 * staying_doubt.h
 *	  What stays in a session without being suspect, and whether it grows.
 *
 * Never called inside palloc.
 */
#ifndef PLH_STAYING_DOUBT_H
#define PLH_STAYING_DOUBT_H

#include "judge/course.h"
#include "judge/suspect_list.h"
#include "report/stack_text.h"
#include "telling/explained_process.h"
#include "telling/found_doubt.h"

/* The process has a profile, and no other doubt is in "doubt". */
extern void plh_staying_doubt_find(PlhDoubt *doubt, const PlhExplainedProcess *process,
								   const PlhSuspectList *list, const PlhCourse *course,
								   PlhStackTexts *stacks);

#endif							/* PLH_STAYING_DOUBT_H */
