/*
 * census.c
 *	  The bytes that all memory contexts and malloc hold, now and over time.
 *
 * This code runs inside palloc.
 *
 * The owner walks over the tree of its contexts as often as callers ask for it, and at once where
 * the figures would contradict what is known since.  All walks together take at most 0.1% of the
 * time.  The tree is whole whenever a method of a context is called.
 *
 * A walk is never cut into pieces: contexts come, go and move between two of them, and the sum
 * would be that of no moment.  Where there is no time for a whole one, none is taken, and the
 * figures stay those of the last.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "port/atomics.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/allocator.h"
#include "base/clock.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sampling.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_courses.h"
#include "profile/profile_file.h"
#include "sampler/census.h"
#include "sampler/census_examples.h"
#include "sampler/census_portals.h"
#include "sampler/context_name.h"
#include "sampler/lifetime.h"

/* Two points of the history lie this far apart at first. */
#define HISTORY_GAP_US ((int64) 1000000)

/* Two points that differ by less are alike. */
#define CHANGED_BYTES 131072

/*
 * Censuses take at most one part in CENSUS_SHARE of the time.  Time that they have not taken is
 * credit, up to CREDIT_MAX_US, as a process that grows fast needs several within a moment.
 * CREDIT_RESERVE_US of it are for those.  One that becomes idle counts whatever it owes, as figures
 * that are wrong then stay so; but not for more than one part in IDLE_SHARE of the time.
 */
#define CENSUS_SHARE 1000
#define CREDIT_MAX_US 20000
#define CREDIT_RESERVE_US 10000
#define IDLE_SHARE 10

/*
 * A census that somebody asks for comes at least ASKED_GAP_US after the last such one, and these
 * take no more than one part in ASKED_SHARE of the time.
 */
#define ASKED_GAP_US 10000
#define ASKED_SHARE 50

/*
 * Figures that have changed by this part of them, and by this many bytes, are out of date.  The
 * process' own memory, which the kernel has to be asked for, is asked for this often, if it can
 * have grown by that.
 */
#define OUTDATED_PART 5
#define OUTDATED_BYTES ((int64) 1024 * 1024)

/*
 * Live bytes are an estimate: no fewer samples than this tell that they have changed.  Otherwise a
 * statement that has a sample when it ends would be a change each time, and a session of short ones
 * would spend all credit on what comes and goes.
 */
#define OUTDATED_SAMPLES 2
#define OWN_GAP_US ((int64) 10 * 1000)

/*
 * A transaction that commits holds its locks meanwhile, and waits for no longer than this.  The
 * clock is read once per CLOCK_CONTEXTS contexts, which take a tenth of that at most.
 */
#define BRIEF_US 2000
#define CLOCK_CONTEXTS 512

/*
 * What is free in a context is found by its method "stats", which walks over its blocks and free
 * chunks: that can't be given up halfway.  So it is only asked for where the last census with it
 * took no longer than this, or once in a while.
 */
#define BRIEF_FREE_US 1000
#define FREE_US 10000

/* The last census that nobody asked for, which says when the next is due. */
typedef struct Schedule
{
	int64		last_census_us; /* by the monotonic clock; 0: none yet */
	int64		spent_us;		/* of the credit, as of last_census_us */
	int64		counted_live_bytes; /* live bytes at that time */
	int64		counted_lasting_bytes;	/* of these, what lasts */
}			Schedule;

static struct
{
	Schedule	schedule;
	int64		last_asked_us;	/* the last that was asked for, by the
								 * monotonic clock */
	int64		last_cpu_us;	/* processor time that the last one took */
	int64		own_asked_us;	/* when the kernel was last asked */
	int64		touched_bytes;	/* when own memory was last known */
	uint32		census_number;
	int64		history_gap_us; /* between two points of the history */
	int64		last_point_us;	/* of it, by the monotonic clock */
	bool		is_passing_point;	/* the last one is too near to another */
	int64		passing_point_us;	/* then, when it was */
	bool		is_asked;		/* it is taken because somebody has asked */
	MemoryContext being_reset;	/* what is in it is over; else NULL */
	bool		never_brief;	/* a census was given up as too long */
	bool		is_missing;		/* one was due, but too long for a commit */
	int64		free_cost_us;	/* of the last that counted what is free */
	int64		last_free_us;	/* when that was, by the monotonic clock */
}			state;

/* Returns the context behind another one in the tree; NULL at the end. */
static MemoryContext
next_context(MemoryContext context)
{
	Assert(MemoryContextIsValid(context));
	if (context->firstchild != NULL)
	{
		Assert(context->firstchild->parent == context);
		return context->firstchild;
	}
	while (context != NULL && context->nextchild == NULL)
		context = context->parent;
	return context == NULL ? NULL : context->nextchild;
}

/* A context whose reset has begun counts as it will be: with the block that it began with. */
static int64
bytes_of(MemoryContext context)
{
	if (context == state.being_reset)
		return Min(context->mem_allocated, ALLOCSET_DEFAULT_INITSIZE);
	return context->mem_allocated;
}

/* Add a context to its record, if there is room for one. */
static void
count_context(MemoryContext context, PlhLifetime lifetime, int64 bytes)
{
	uint32		name = plh_profile_string(plh_context_name(context), PLH_CONTEXT_NAME_MAX);
	PlhContextRecord *record = name == 0 ? NULL : plh_profile_context(name, lifetime);

	if (record == NULL)
		return;
	if (record->census != state.census_number)
	{
		record->census = state.census_number;
		record->counted_instances = 0;
		record->counted_bytes = 0;
		record->looks = plh_census_examples_begin(record, context);
	}
	record->counted_instances++;
	record->counted_bytes += bytes;
	if (unlikely(record->looks != 0))
		plh_census_examples_look(record, context, bytes);
}

/*
 * Note how the contexts of one name grow, once they are counted.  A process that rests adds none,
 * however often it is asked.
 */
static void
note_course(PlhContextRecord *record, TimestampTz now)
{
	PlhContextCheckpoint *last = &record->checkpoints[PLH_CHECKPOINTS - 1];

	if (record->instances == 0 || state.is_asked)
		return;
	if (record->first_at == 0)
		record->first_at = now;
	if (record->instances > record->most_instances)
	{
		record->most_instances = record->instances;
		record->rises++;
	}
	if (now - record->first_at < Max(USECS_PER_SEC, 2 * (last->at - record->first_at)))
		return;
	memmove(&record->checkpoints[0], &record->checkpoints[1],
			sizeof(PlhContextCheckpoint) * (PLH_CHECKPOINTS - 1));
	last->at = now;
	last->instances = record->instances;
	last->bytes = record->bytes;
}

/*
 * Count all contexts, and if wanted what is free in them, unless that takes until the processor
 * time "end_us" (0: however long).  Returns false, and all figures are as before, if so.
 */
static bool
count_until(int64 end_us, bool with_free)
{
	int64		bytes = 0;
	int64		passing_bytes = 0;
	MemoryContextCounters counters = {0};
	uint32		count = 0;
	TimestampTz now = plh_clock_coarse_now();

	state.census_number++;
	plh_census_examples_start(end_us != 0);
	plh_census_portals_start();
	for (MemoryContext context = TopMemoryContext; context != NULL; context = next_context(context))
	{
		PlhLifetime lifetime = plh_lifetime_of(context);
		int64		context_bytes = bytes_of(context);

		count_context(context, lifetime, context_bytes);
		plh_census_portals_count(context, lifetime, context_bytes);
		bytes += context_bytes;
		if (!plh_lifetime_is_lasting(lifetime))
			passing_bytes += context_bytes;
		if (with_free && context != state.being_reset)
			context->methods->stats(context, NULL, NULL, &counters, false);
		count++;
		if (end_us != 0 && count % CLOCK_CONTEXTS == 0 &&
			plh_clock_us(CLOCK_THREAD_CPUTIME_ID) >= end_us)
			return false;
	}

	/* readers see the figures of a whole census only */
	for (PlhContextRecord *record = plh_profile_next_context(NULL);
		 record != NULL; record = plh_profile_next_context(record))
	{
		bool		counted = record->census == state.census_number;

		record->instances = counted ? record->counted_instances : 0;
		record->bytes = counted ? record->counted_bytes : 0;
		note_course(record, now);
	}
	plh_census_examples_keep();
	plh_census_portals_keep();
	plh_profile->context_bytes = bytes;
	plh_profile->passing_bytes = passing_bytes;
	plh_profile->context_free_bytes = with_free ? (int64) counters.freespace : -1;
	plh_profile->context_count = count;
	return true;
}

/* The leak check calls this from outside palloc, without the guard. */
void
plh_census_count_contexts(void)
{
	bool		was_held = plh_guard_take();

	Assert(plh_profile != NULL);
	(void) count_until(0, false);
	plh_guard_restore(was_held);
}

/* What is about to be freed counts as free. */
static void
move_what_is_over(void)
{
	int64		bytes;

	if (state.being_reset == NULL || plh_profile->malloc_bytes < 0)
		return;
	bytes = state.being_reset->mem_allocated - bytes_of(state.being_reset);
	plh_profile->malloc_bytes -= bytes;
	plh_profile->malloc_free_bytes += bytes;
}

/* What malloc has given out, and what it keeps; -1 if it does not tell. */
void
plh_census_count_malloc(void)
{
	PlhAllocatorFigures figures;
	bool		is_known = plh_allocator_count(&figures);

	plh_profile->allocator = plh_allocator();
	plh_profile->malloc_bytes = is_known ? figures.used_bytes : -1;
	plh_profile->malloc_free_bytes = is_known ? figures.free_bytes : -1;
	plh_profile->malloc_arena_bytes = figures.arena_bytes;
}

/* Note what samples stand for at the same time: of contexts that pass, of others, of malloc. */
static void
note_sampled(void)
{
	const PlhCounters *sampled = &plh_profile->malloc_counters;
	int64		live_bytes = plh_profile->counters.live_bytes;
	int64		lasting_bytes = plh_lifetime_lasting_bytes();

	state.schedule.counted_live_bytes = live_bytes;
	state.schedule.counted_lasting_bytes = lasting_bytes;
	plh_profile->lasting_sampled_bytes = plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION];
	plh_profile->passing_sampled_bytes = live_bytes - lasting_bytes;
	if (state.being_reset != NULL)
		plh_profile->passing_sampled_bytes -=
			plh_profile_counters_held.live_bytes[PLH_LIFETIME_STATEMENT];
	plh_profile->malloc_sampled_bytes = sampled->live_bytes;
	plh_profile->malloc_sampled_error = (int64)
		plh_sampling_error_bytes(sampled->live_variance, sampled->live_bytes,
								 sampled->live_samples);
}

/* Note the process' own memory.  An exit asks for that, as the last census may be older. */
void
plh_census_note_own_bytes(void)
{
	plh_profile->own_bytes = plh_process_facts_own_bytes();
	state.touched_bytes = plh_process_facts_touched_bytes();
	if (!plh_profile_run_is_paused())
		plh_profile_run.private_bytes = Max(plh_profile_run.private_bytes, plh_profile->own_bytes);
	if (plh_profile->own_bytes <= plh_profile->own_peak_bytes)
		return;
	plh_profile->own_peak_bytes = plh_profile->own_bytes;
	plh_profile->own_peak_at = GetCurrentTimestamp();
}

/*
 * Which points stay when they lie "gap_us" apart at least?  Of some that are nearer to each other
 * the last one stays, too, where there is none for long behind it: it tells when something ended.
 * Returns how many these are; their numbers are in "kept".
 */
static int
choose_points(uint8 *kept, int64 gap_us)
{
	const PlhHistoryPoint *history = plh_profile->history;
	int			count = 0;

	for (int i = 0; i < PLH_HISTORY_POINTS; i++)
	{
		if (i > 0 && i < PLH_HISTORY_POINTS - 1 &&
			labs(history[i + 1].at - history[kept[count - 1]].at) <= gap_us)
			continue;
		kept[count++] = i;
	}
	return count;
}

/* Make room in a full history, without the points that are nearest to others. */
static void
thin_out_history(void)
{
	uint8		kept[PLH_HISTORY_POINTS];
	int			count;

	StaticAssertStmt(PLH_HISTORY_POINTS <= PG_UINT8_MAX, "numbers of points are bytes");
	do
	{
		state.history_gap_us *= 2;
		count = choose_points(kept, state.history_gap_us + state.history_gap_us / 8);
	} while (count > PLH_HISTORY_POINTS * 3 / 4);
	for (int i = 0; i < count; i++)
	{
		plh_profile->history[i] = plh_profile->history[kept[i]];
		plh_profile->history_passing_kb[i] = plh_profile->history_passing_kb[kept[i]];
	}
	plh_profile_courses_keep(kept, count);
	plh_profile->history_count = count;
}

/*
 * Does the last point of the history, which is too near to the one before it, give way to the
 * census of now?  It stays where there was none for long behind it, and it differs from that
 * before: then it tells when something ended.
 */
static bool
gives_way(uint32 count, int64 now_us)
{
	const PlhHistoryPoint *last = &plh_profile->history[count - 1];

	return now_us - state.passing_point_us < state.history_gap_us ||
		(labs(last->own_bytes - last[-1].own_bytes) < CHANGED_BYTES &&
		 labs(last->context_bytes - last[-1].context_bytes) < CHANGED_BYTES);
}

/*
 * The number of the point that a census becomes.  The last point is always the last census, and
 * gives way to the next one if it is too near to the one before it, by the monotonic clock: the
 * other, whose time is shown, may be set back.
 */
static uint32
next_point(int64 now_us)
{
	uint32		count = plh_profile->history_count;

	if (state.history_gap_us == 0)
		state.history_gap_us = HISTORY_GAP_US;
	if (state.is_passing_point && gives_way(count, now_us))
		count--;
	else if (state.is_passing_point)
		state.last_point_us = state.passing_point_us;
	if (count == PLH_HISTORY_POINTS)
	{
		thin_out_history();
		count = plh_profile->history_count;
	}
	state.is_passing_point = count > 0 && now_us - state.last_point_us < state.history_gap_us;
	if (state.is_passing_point)
		state.passing_point_us = now_us;
	else
		state.last_point_us = now_us;
	return count;
}

/*
 * Add a census to the history.  Readers do not see a point while it is changed.  What is about to
 * be freed is no longer live, as its contexts are not counted either.
 */
static void
add_to_history(TimestampTz now, int64 now_us)
{
	uint32		count = next_point(now_us);

	Assert(count < PLH_HISTORY_POINTS);
	plh_profile->history_count = count;
	pg_write_barrier();
	plh_profile->history[count].at = now;
	plh_profile->history[count].live_bytes =
		state.schedule.counted_lasting_bytes + plh_profile->passing_sampled_bytes;
	plh_profile->history[count].context_bytes = plh_profile->context_bytes;
	plh_profile->history[count].malloc_bytes = plh_profile->malloc_bytes;
	plh_profile->history[count].malloc_free_bytes = plh_profile->malloc_free_bytes;
	plh_profile->history[count].own_bytes = plh_profile->own_bytes;
	plh_profile->history_passing_kb[count] = Min(plh_profile->passing_bytes / 1024, PG_UINT32_MAX);
	plh_profile_courses_add_point(count);
	pg_write_barrier();
	plh_profile->history_count = count + 1;
}

/*
 * Note what a census has cost.  The cost of the next is the lesser of the last two: one that met
 * cold pages must not put off the next for seconds.
 */
static void
note_cost(int64 cpu_us)
{
	int64		cost_us = Min(cpu_us, state.last_cpu_us);

	state.schedule.spent_us += cpu_us;
	state.last_cpu_us = cpu_us;
	if (cpu_us <= BRIEF_US)
		state.never_brief = false;
	else if (cost_us > BRIEF_US)
		state.never_brief = true;
}

/* What is spent of the credit, less what has come in since the last census, if there was one. */
static int64
spent_by(int64 now_us)
{
	const		Schedule *schedule = &state.schedule;

	return Max(0, schedule->spent_us - (now_us - schedule->last_census_us) / CENSUS_SHARE);
}

static bool
has_changed(int64 before, int64 now, int64 least_bytes)
{
	int64		change = now > before ? now - before : before - now;

	return change >= Max(least_bytes, before / OUTDATED_PART);
}

/* Have live bytes changed, of which a sample stands for "sample_bytes"? */
static bool
have_samples_changed(int64 before, int64 now, int64 sample_bytes)
{
	return has_changed(before, now, Max(OUTDATED_BYTES, OUTDATED_SAMPLES * sample_bytes));
}

/* What lasts is compared by itself, too, as what passes may have fewer samples. */
static bool
have_live_bytes_changed(void)
{
	int64		interval = plh_profile->sample_interval;
	int64		live = plh_profile->counters.live_bytes;
	int64		lasting = plh_lifetime_lasting_bytes();
	uint32		coarse = plh_sampling_coarse_interval(interval, live - lasting);

	return have_samples_changed(state.schedule.counted_lasting_bytes, lasting, interval) ||
		have_samples_changed(state.schedule.counted_live_bytes, live, coarse);
}

/*
 * Has the process' own memory changed?  A file of /proc takes the kernel 10 to 30 us, which a
 * session that works now and then would pay in each transaction: so the kernel is asked where it
 * can have grown; and of a process that becomes idle, after a census, where it may as well have
 * become smaller.
 */
static bool
has_own_changed(int64 now_us)
{
	int64		bytes = plh_process_facts_touched_bytes();

	if (state.being_reset == NULL)
	{
		if (now_us < state.own_asked_us + OWN_GAP_US)
			return false;
		state.own_asked_us = now_us;
		if (bytes >= 0 && bytes < state.touched_bytes + OUTDATED_BYTES)
			return false;
	}
	if (has_changed(plh_profile->own_bytes, plh_process_facts_own_bytes(), OUTDATED_BYTES))
		return true;
	state.touched_bytes = bytes;
	return false;
}

static bool
may_count_free(int64 now_us, bool brief)
{
	if (brief)
		return state.free_cost_us <= BRIEF_FREE_US;
	return state.free_cost_us <= FREE_US ||
		now_us >= state.last_free_us + CENSUS_SHARE * state.free_cost_us;
}

/* May a process that becomes idle take a census beyond its credit? */
static bool
may_owe(int64 now_us)
{
	return now_us - state.schedule.last_census_us >= IDLE_SHARE * state.last_cpu_us;
}

/*
 * Is it time for a census, or does the last contradict what is known now?  One for which there is
 * credit only once the process becomes idle is missing until then.
 */
static bool
is_due(int64 now_us, int64 gap_us)
{
	int64		spent = spent_by(now_us);

	if (state.schedule.last_census_us == 0)
		return true;
	if (now_us >= state.schedule.last_census_us + gap_us &&
		spent <= CREDIT_MAX_US - CREDIT_RESERVE_US)
		return true;
	if (!(have_live_bytes_changed() || has_own_changed(now_us)))
		return false;
	if (spent <= CREDIT_MAX_US || (state.being_reset != NULL && may_owe(now_us)))
		return true;
	state.is_missing = true;
	return false;
}

/* Give up a census that would take too long.  Without what is free it may be brief next time. */
static void
give_up(bool with_free)
{
	if (with_free)
		state.free_cost_us = BRIEF_US;
	else
		state.never_brief = true;
	state.is_missing = true;
}

/* Take a census.  Returns false where a brief one was given up. */
static bool
take(int64 now_us, bool brief)
{
	int64		started_us = plh_clock_us(CLOCK_THREAD_CPUTIME_ID);
	bool		with_free = may_count_free(now_us, brief);
	int64		took_us;
	TimestampTz now;

	Assert(plh_guard_held && CritSectionCount == 0);
	Assert(plh_profile != NULL);
	if (!count_until(brief ? started_us + BRIEF_US : 0, with_free))
	{
		give_up(with_free);
		return false;
	}
	state.is_missing = false;
	state.schedule.spent_us = spent_by(now_us);
	state.schedule.last_census_us = now_us;
	plh_census_count_malloc();
	move_what_is_over();
	plh_census_note_own_bytes();
	note_sampled();
	now = GetCurrentTimestamp();
	plh_profile->census_at = now;
	if (!state.is_asked)
		plh_profile->worked_at = now;
	add_to_history(now, now_us);
	took_us = plh_clock_us(CLOCK_THREAD_CPUTIME_ID) - started_us;
	note_cost(took_us);
	if (with_free)
	{
		state.free_cost_us = took_us;
		state.last_free_us = now_us;
	}
	return true;
}

/*
 * Take a census, if the last one is at least "gap_us" old or its figures are out of date, and there
 * is credit for it.  A "brief" one is not taken if it needs more than BRIEF_US: where that was
 * seen, none is tried before another one, which need not be brief, has taken less.  Returns whether
 * a census was taken.
 *
 * The cost is processor time: an interrupted census takes no longer.
 */
bool
plh_census_take_if_older(int64 gap_us, bool brief)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	if (!is_due(now_us, gap_us))
		return false;
	if (brief && state.never_brief)
	{
		state.is_missing = true;
		return false;
	}
	return take(now_us, brief);
}

/*
 * Take one that somebody has asked for; of the context "over", if it is not NULL, what is in it
 * counts as over.  So that whoever asks again and again does not slow the process down, the last
 * one stands for it where that was asked for a moment ago.
 *
 * The others come as if nobody had asked, in time and credit: only they tell how contexts become
 * more, and whether the process works.
 */
bool
plh_census_take_if_asked(MemoryContext over)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	Schedule	schedule = state.schedule;

	if (state.last_asked_us != 0 && now_us - state.last_asked_us <
		Max(ASKED_GAP_US, ASKED_SHARE * state.last_cpu_us))
		return false;
	state.last_asked_us = now_us;
	state.being_reset = over;
	state.is_asked = true;
	(void) take(now_us, false);
	state.is_asked = false;
	state.being_reset = NULL;
	state.schedule = schedule;
	return true;
}

/* Take the last one, so that what is told of an exit is of that moment. */
void
plh_census_take_at_exit(void)
{
	(void) take(plh_clock_us(CLOCK_MONOTONIC_COARSE), false);
}

/* Was the last brief census given up or not tried? */
bool
plh_census_is_missing(void)
{
	return state.is_missing;
}

/* The same while a context is being reset: what is in it counts as over. */
bool
plh_census_take_at_reset(MemoryContext context, int64 gap_us)
{
	bool		taken;

	state.being_reset = context;
	taken = plh_census_take_if_older(gap_us, false);
	state.being_reset = NULL;
	return taken;
}

PLH_EVERY_PROCESS void
plh_census_forget(void)
{
	memset(&state, 0, sizeof(state));
	plh_profile_courses_forget();
}
