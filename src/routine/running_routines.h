/*
 * running_routines.h
 *	  The routines that this process is in, from the innermost on.
 *
 * Whoever has something to say on an error has a callback in error_context_stack, which lies on the
 * stack of the process, the innermost first.
 *
 * These functions may be called inside palloc.
 */
#pragma once

#include "routine/known_callbacks.h"
#include "stack/stack_walk.h"

/* A walk looks at no more callbacks than this. */
#define PLH_ROUTINES_MAX 32

typedef struct PlhRoutineWalk
{
	const ErrorContextCallback *next;
	uintptr_t	above;			/* where the last one was */
	uintptr_t	highest;		/* where one may be */
	int			left;			/* so many more are looked at */
} PlhRoutineWalk;

typedef struct PlhRunningRoutine
{
	const PlhRoutineReader *reader;
	const void *argument;		/* for that */
	uintptr_t	place;			/* on the stack, of its callback */
} PlhRunningRoutine;

/* Begin with the innermost. */
static inline void
plh_running_routines_begin(PlhRoutineWalk *walk)
{
	uintptr_t	here = (uintptr_t) __builtin_frame_address(0);

	walk->next = error_context_stack;
	walk->above = here;
	walk->highest = plh_stack_walk_end - sizeof(ErrorContextCallback);

	/* another stack, as a coroutine or a thread has, tells nothing */
	walk->left = here < plh_stack_walk_low || here >= plh_stack_walk_end ? 0 : PLH_ROUTINES_MAX;
	plh_known_callbacks_refresh();
}

/*
 * May the next callback be read?  It lies on the stack, and above the one before; so does none at
 * the end.
 */
static inline bool
plh_running_routines_is_sound(const PlhRoutineWalk *walk)
{
	uintptr_t	place = (uintptr_t) walk->next;

	return place > walk->above && place <= walk->highest && place % sizeof(void *) == 0;
}

/* Returns false if there are no more. */
static inline bool
plh_running_routines_next(PlhRoutineWalk *walk, PlhRunningRoutine *running)
{
	while (plh_running_routines_is_sound(walk) && walk->left-- > 0)
	{
		const ErrorContextCallback *entry = walk->next;

		walk->above = (uintptr_t) entry;
		walk->next = entry->previous;
		running->reader = plh_known_callbacks_reader((uintptr_t) entry->callback, entry->arg);
		if (running->reader == NULL)
			continue;
		running->place = (uintptr_t) entry;
		running->argument = entry->arg;
		return true;
	}
	return false;
}
