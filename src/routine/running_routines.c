/*
 * running_routines.c
 *	  The routines that this process is in, from the innermost on.
 *
 * This code runs inside palloc.
 *
 * Whoever has something to say on an error has a callback in error_context_stack, which
 * lies on the stack of the process, the innermost first.
 */
#include "postgres.h"

#include "routine/known_callbacks.h"
#include "routine/running_routines.h"
#include "stack/stack_walk.h"

/* May the next callback be read?  It lies on the stack, and above the one before. */
static inline bool
is_sound(const PlhRoutineWalk *walk)
{
	uintptr_t	place = (uintptr_t) walk->next;

	return place > walk->above && place % sizeof(void *) == 0 &&
		place <= plh_stack_walk_end - sizeof(ErrorContextCallback);
}

/*
 * Begin with the innermost.
 */
void
plh_running_routines_begin(PlhRoutineWalk *walk)
{
	uintptr_t	here = (uintptr_t) __builtin_frame_address(0);

	walk->next = error_context_stack;
	walk->above = here;
	walk->looked_at = 0;

	/* another stack, as a coroutine or a thread has, tells nothing */
	if (here < plh_stack_walk_low || here >= plh_stack_walk_end)
		walk->next = NULL;
}

/*
 * Returns false if there are no more.
 */
bool
plh_running_routines_next(PlhRoutineWalk *walk, PlhRoutine *routine)
{
	while (walk->next != NULL && walk->looked_at++ < PLH_ROUTINES_MAX && is_sound(walk))
	{
		const ErrorContextCallback *entry = walk->next;
		const PlhRoutineReader *reader;

		walk->above = (uintptr_t) entry;
		walk->next = entry->previous;
		routine->line = 0;
		reader = plh_known_callbacks_reader((uintptr_t) entry->callback, entry->arg);
		if (reader == NULL || !reader->read(entry->arg, routine))
			continue;
		routine->place = (uintptr_t) entry;
		routine->language = reader->language;
		return true;
	}
	return false;
}
