/*
 * running_routines.h
 *	  The routines that this process is in, from the innermost on.
 *
 * These functions may be called inside palloc, and are not reentrant.
 */
#ifndef PLH_RUNNING_ROUTINES_H
#define PLH_RUNNING_ROUTINES_H

#include "routine/routine_reader.h"

/* A walk looks at no more callbacks than this. */
#define PLH_ROUTINES_MAX 32

typedef struct PlhRoutineWalk
{
	const ErrorContextCallback *next;
	uintptr_t	above;			/* where the last one was */
	int			looked_at;
} PlhRoutineWalk;

extern void plh_running_routines_begin(PlhRoutineWalk *walk);
extern bool plh_running_routines_next(PlhRoutineWalk *walk, PlhRoutine *routine);

#endif							/* PLH_RUNNING_ROUTINES_H */
