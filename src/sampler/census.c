/*
 * census.c
 *	  When a process counts its memory contexts and malloc, so that its figures are true.
 *
 * This code runs inside palloc.
 *
 * The owner counts as often as callers ask for it, and at once where the figures would contradict
 * what is known since.  All censuses together take at most 0.1% of the time.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sampling.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "sampler/census.h"
#include "sampler/census_count.h"
#include "sampler/census_history.h"
#include "sampler/lifetime.h"

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

/* A transaction that commits holds its locks meanwhile, and waits for no longer than this. */
#define BRIEF_US 2000

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
} Schedule;

static struct
{
	Schedule	schedule;
	int64		last_asked_us;	/* the last that was asked for, by the
								 * monotonic clock */
	int64		last_cpu_us;	/* processor time that the last one took */
	int64		own_asked_us;	/* when the kernel was last asked */
	int64		touched_bytes;	/* when own memory was last known */
	bool		is_asked;		/* it is taken because somebody has asked */
	MemoryContext being_reset;	/* what is in it is over; else NULL */
	bool		never_brief;	/* a census was given up as too long */
	bool		is_missing;		/* one was due, but too long for a commit */
	int64		free_cost_us;	/* of the last that counted what is free */
	int64		last_free_us;	/* when that was, by the monotonic clock */
}			state;

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
	const Schedule *schedule = &state.schedule;

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

/* Count, and write what was found.  Returns false where a brief census was given up. */
static bool
count_and_note(int64 now_us, const PlhCensusCount *count)
{
	TimestampTz now;

	if (!plh_census_count_take(count))
		return false;
	plh_census_count_malloc();
	if (count->over != NULL)
		plh_census_count_as_free(count->over);
	plh_census_note_own_bytes();
	note_sampled();
	now = GetCurrentTimestamp();
	plh_profile->census_at = now;
	if (!state.is_asked)
		plh_profile->worked_at = now;
	plh_census_history_add(now, now_us, state.schedule.counted_lasting_bytes +
						   plh_profile->passing_sampled_bytes);
	return true;
}

/* Take a census.  Returns false where a brief one was given up. */
static bool
take(int64 now_us, bool brief)
{
	int64		started_us = plh_clock_us(CLOCK_THREAD_CPUTIME_ID);
	const PlhCensusCount count = {
		.end_us = brief ? started_us + BRIEF_US : 0,
		.with_free = may_count_free(now_us, brief),
		.is_asked = state.is_asked,
		.over = state.being_reset
	};
	int64		took_us;
	bool		taken;

	Assert(plh_guard_held && CritSectionCount == 0);
	Assert(plh_profile != NULL);
	plh_profile_turn_census();
	taken = count_and_note(now_us, &count);
	plh_profile_turn_census();
	if (!taken)
	{
		give_up(count.with_free);
		return false;
	}
	state.is_missing = false;
	state.schedule.spent_us = spent_by(now_us);
	state.schedule.last_census_us = now_us;
	took_us = plh_clock_us(CLOCK_THREAD_CPUTIME_ID) - started_us;
	note_cost(took_us);
	if (count.with_free)
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
	plh_census_count_forget();
	plh_census_history_forget();
}
