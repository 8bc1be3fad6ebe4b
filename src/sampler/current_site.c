/*
 * current_site.c
 *	  The routines that an allocation is made in, as frames of its stack, and the statement.
 *
 * This code runs inside palloc.
 *
 * A statement of a loop allocates with the same stack in C and at the same line again and again.
 * So where the profile has such a stack is remembered, by the number of the one in C and the frames
 * of the routines, and frames are merged only where it is not known.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"

#include "base/fork.h"
#include "base/hash_seed.h"
#include "base/page_layout.h"
#include "profile/profile_recycling.h"
#include "routine/running_routines.h"
#include "sampler/current_site.h"
#include "sampler/statement_peaks.h"

#define KNOWN 1024				/* a power of two */
#define PLACES 4				/* where one may be, from its own place on */

/* A stack with routines, and where the profile has it. */
typedef struct Known
{
	uint64		key;
	PlhKnownStack stack;
} Known;

/* Of a child, none is as of the state that its profile is in. */
static PLH_SURVIVES_FORK PLH_LARGE Known known[KNOWN];

#define MARKED 64				/* a power of two */

/* A routine at a line, and its frame in the profile. */
typedef struct Marked
{
	const PlhRoutineReader *reader;
	PlhRoutineMark mark;
	uint32		generation;		/* of the profile */
	PlhFrame	frame;
} Marked;

/* As above. */
static PLH_SURVIVES_FORK PLH_LARGE Marked marked[MARKED];

static PLH_SURVIVES_FORK uint32 replaced;	/* so many have given way */
static PLH_SAME_IN_CHILD uint64 factor; /* random, and odd */

/* Addresses and frames of the stack that was merged last. */
static PLH_SURVIVES_FORK PLH_LARGE uintptr_t merged[PLH_MAX_FRAMES];

/* The routines that run, but for those whose names find no room. */
typedef struct Running
{
	uint64		key;			/* tells them, with a stack in C, from others */
	int			count;
	PlhFrame	frames[PLH_ROUTINES_MAX];
	uintptr_t	places[PLH_ROUTINES_MAX];
} Running;

/*
 * The last answer, and the statement for which it was given.  The address of a text does not
 * identify the statement, as the next text may well lie at the same place; together with the start
 * of the statement it does.
 */
static struct
{
	uint32		offset;			/* 0: none */
	const char *text;
	uint64		query_id;
	TimestampTz start;
}			state;

/* The frame of a routine in the profile; 0 if there is no room for its name. */
static pg_noinline PlhFrame
make_frame(const PlhRoutineReader *reader, const void *argument)
{
	PlhRoutine	routine = {.line = 0};
	uint32		name;

	if (!reader->read(argument, &routine))
		return 0;
	name = plh_profile_string(routine.name, PLH_ROUTINE_NAME_MAX);
	return name == 0 ? 0 :
		PLH_ROUTINE_FRAME(reader->language, Min(routine.line, PLH_ROUTINE_LINE_MAX), name);
}

/* Make the frame of a routine that has a mark, and remember it. */
static pg_noinline PlhFrame
mark_frame(Marked *known_as, PlhRoutineMark mark, const PlhRoutineReader *reader,
		   const void *argument)
{
	known_as->frame = make_frame(reader, argument);
	known_as->generation = known_as->frame == 0 ? 0 : plh_profile_recycling_generation;
	known_as->reader = reader;
	known_as->mark = mark;
	return known_as->frame;
}

/* The frame of a routine, which is known for most. */
static inline PlhFrame
frame_of(const PlhRoutineReader *reader, const void *argument)
{
	PlhRoutineMark mark;
	Marked	   *known_as;

	if (reader->mark == NULL || (mark = reader->mark(argument)).place == 0)
		return make_frame(reader, argument);
	known_as = &marked[(mark.place ^ mark.place >> 32) % MARKED];
	if (likely(known_as->mark.place == mark.place && known_as->mark.version == mark.version &&
			   known_as->reader == reader &&
			   known_as->generation == plh_profile_recycling_generation))
		return known_as->frame;
	return mark_frame(known_as, mark, reader, argument);
}

/* Find the routines that run, above a stack in C with that number. */
static inline void
find_running(Running *found, uint64 number)
{
	PlhRoutineWalk walk;
	PlhRunningRoutine running;

	found->count = 0;
	found->key = number;
	plh_running_routines_begin(&walk);
	while (plh_running_routines_next(&walk, &running))
	{
		PlhFrame	frame = frame_of(running.reader, running.argument);

		if (frame == 0)
			continue;
		found->key = (found->key ^ frame) * factor;
		found->key ^= found->key >> 32;
		found->frames[found->count] = frame;
		found->places[found->count++] = running.place;
	}
}

/*
 * Merge the frames of routines into a stack, each behind the function that has its callback.
 * Beyond the frames that are kept of a deep stack only the innermost routine stays.
 */
static pg_noinline void
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
 * Find the stack of that key, or room for it.  One of its places gives way, each in turn, so that
 * none stays for ever that is not met again.
 */
static inline Known *
find_known(uint64 key)
{
	Known	   *found = NULL;

	for (int i = 0; i < PLACES; i++)
	{
		found = &known[(key + i) % KNOWN];
		if (likely(found->key == key))
			return found;
		if (found->key == 0)
			break;
	}
	if (found->key != 0)
		found = &known[(key + replaced++ % PLACES) % KNOWN];
	found->key = key;
	memset(&found->stack, 0, sizeof(found->stack));
	return found;
}

/* Add the routines to a captured stack, where anything has something to say on errors. */
pg_noinline void
plh_current_site_add_routines(PlhStack *stack)
{
	Running		running;
	Known	   *found;

	if (unlikely(factor == 0))
		factor = plh_hash_seed_draw() | 1;
	find_running(&running, stack->known == NULL ? 0 : stack->known->number);
	if (running.count == 0)
		return;
	found = stack->known == NULL ? NULL : find_known(running.key);
	if (found == NULL || found->stack.generation != plh_profile_recycling_generation)
		merge(stack, &running);
	if (found != NULL)
		stack->known = &found->stack;
}

/* The statement may be another one.  Its query id is known only when it has been analyzed. */
static void
look_up(const char *text, uint64 query_id, TimestampTz start)
{
	bool		is_same = text == state.text && start == state.start &&
		(state.query_id == query_id || state.query_id == 0);

	if (!is_same)
		plh_statement_peaks_end();
	state.offset = plh_profile_statement(query_id, text);
	state.text = text;
	state.query_id = query_id;
	state.start = start;
	if (is_same)
		plh_statement_peaks_rename(state.offset);
	else
	{
		plh_profile->transaction_began_at = GetCurrentTransactionStartTimestamp();
		plh_statement_peaks_begin(state.offset, start);
	}
}

/* The running top-level statement, as an offset; 0: none, not tracked, or the profile is full. */
uint32
plh_current_site_statement(void)
{
	const char *text = debug_query_string;
	uint64		query_id;
	TimestampTz start;

	Assert(CritSectionCount == 0);
	if (!plh_track_queries || text == NULL)
	{
		plh_statement_peaks_pause();
		return 0;
	}

	query_id = pgstat_get_my_query_id();
	start = GetCurrentStatementStartTimestamp();
	if (state.offset == 0 || text != state.text ||
		query_id != state.query_id || start != state.start)
		look_up(text, query_id, start);
	else
		plh_statement_peaks_go_on();
	return state.offset;
}

/* The answer was about the parent's profile. */
PLH_EVERY_PROCESS void
plh_current_site_forget(void)
{
	memset(&state, 0, sizeof(state));
}
