/*
 * current_routines.c
 *	  The routines that an allocation is made in, as frames of its stack.
 *
 * This code runs inside palloc.
 *
 * A statement of a loop allocates with the same stack in C and at the same line again
 * and again.  So where the profile has such a stack is remembered, by the number of the
 * one in C and the frames of the routines, and frames are merged only where it is not
 * known.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/hash_seed.h"
#include "base/page_layout.h"
#include "profile/profile.h"
#include "profile/profile_recycling.h"
#include "routine/running_routines.h"
#include "sampler/current_routines.h"

#define KNOWN 128				/* a power of two */

/* A stack with routines, and where the profile has it. */
typedef struct Known
{
	uint64		key;
	PlhKnownStack stack;
} Known;

/* Of a child, none is as of the state that its profile is in. */
static PLH_SURVIVES_FORK PLH_LARGE Known known[KNOWN];

/* Random, and odd. */
static PLH_SAME_IN_CHILD uint64 factor;

/* Addresses and frames of the stack that was merged last. */
static PLH_SURVIVES_FORK PLH_LARGE uintptr_t merged[PLH_MAX_FRAMES];

/* The routines that run. */
typedef struct Running
{
	int			count;
	PlhFrame	frames[PLH_ROUTINES_MAX];
	uintptr_t	places[PLH_ROUTINES_MAX];
} Running;

/* Find the routines that run.  Those whose names find no room are left out. */
static void
find_running(Running *running)
{
	PlhRoutineWalk walk;
	PlhRoutine	routine;

	running->count = 0;
	plh_running_routines_begin(&walk);
	while (plh_running_routines_next(&walk, &routine))
	{
		uint32		name = plh_profile_string(routine.name, PLH_ROUTINE_NAME_MAX);

		if (name == 0)
			continue;
		running->frames[running->count] =
			PLH_ROUTINE_FRAME(routine.language, Min(routine.line, PLH_ROUTINE_LINE_MAX), name);
		running->places[running->count++] = routine.place;
	}
}

/* What tells a stack in C with these routines from all others. */
static uint64
key_of(const PlhKnownStack *stack, const Running *running)
{
	uint64		key = stack->number;

	if (unlikely(factor == 0))
		factor = plh_hash_seed_draw() | 1;
	for (int i = 0; i < running->count; i++)
	{
		key = (key ^ running->frames[i]) * factor;
		key ^= key >> 32;
	}
	return key;
}

/*
 * Merge the frames of routines into a stack, each behind the function that has its
 * callback.  Beyond the frames that are kept of a deep stack only the innermost
 * routine stays.
 */
static void
merge(PlhStack *stack, const Running *running)
{
	int			indexes[PLH_ROUTINES_MAX];
	int			depth = 0;
	int			next = 0;

	plh_unwind_find_places(stack, running->places, running->count, indexes);
	for (int i = 0; i <= stack->depth && depth < PLH_MAX_FRAMES; i++)
	{
		while (next < running->count && indexes[next] <= i && depth < PLH_MAX_FRAMES)
		{
			/* frames are return addresses minus one */
			if (i < stack->depth || !stack->truncated || next == 0)
			{
				merged[depth++] = running->frames[next] + 1;
				stack->routines++;
			}
			next++;
		}
		if (i < stack->depth && depth < PLH_MAX_FRAMES)
			merged[depth++] = stack->addresses[i];
	}
	stack->truncated |= depth == PLH_MAX_FRAMES;
	stack->addresses = merged;
	stack->depth = depth;
}

/*
 * Does the work of plh_current_routines_add where there is somebody who has something
 * to say on errors.
 */
pg_noinline void
plh_current_routines_add_found(PlhStack *stack)
{
	Running		running;
	Known	   *found;
	uint64		key;

	find_running(&running);
	if (running.count == 0)
		return;
	if (stack->known == NULL)
	{
		merge(stack, &running);
		return;
	}
	key = key_of(stack->known, &running);
	found = &known[key % KNOWN];
	if (found->key != key || found->stack.generation != plh_profile_recycling_generation)
	{
		merge(stack, &running);
		if (found->key != key)
			memset(&found->stack, 0, sizeof(found->stack));
		found->key = key;
	}
	stack->known = &found->stack;
}
