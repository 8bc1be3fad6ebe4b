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
#include "verdict/explanation.h"
#include "verdict/memory_course.h"

typedef struct PlhDoubt
{
	const char *reason;			/* sentences */
	const char *next;			/* a sentence; NULL if there is nothing to do */
} PlhDoubt;

/* "stacks" is NULL without a profile; "course" is zeros without a history. */
extern PlhDoubt plh_doubt_find(const PlhExplainedProcess *process,
							   const PlhMemoryCourse *course,
							   PlhSymbols *symbols, PlhStackTexts *stacks);

#endif							/* PLH_DOUBT_H */
