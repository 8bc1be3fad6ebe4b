/*
 * upkeep.c
 *	  What an owner does beside counting samples: header, census, publication, growth dump.
 *
 * This code runs inside palloc.
 *
 * Upkeep follows samples, and commits, after which a process may be idle for long.  An event has a
 * rule.  Within a tick of the clock, in which a busy session ends a hundred transactions, the first
 * event of a kind is enough, unless what the process holds has changed.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "profile/profile_file.h"
#include "sampler/census.h"
#include "sampler/census_portals.h"
#include "sampler/countdown.h"
#include "sampler/doorbell.h"
#include "sampler/errands.h"
#include "sampler/growth_dump.h"
#include "sampler/owner.h"
#include "sampler/process_limit.h"
#include "sampler/publication.h"
#include "sampler/upkeep.h"

#define TICK_BITS 12			/* a tick has 2^12 microseconds */

/*
 * What follows an event, beside header and census.  The process may have grown without a sample
 * that is kept, through one huge query or a library's malloc: so other events lead to a profile,
 * too, and to a census at once, as there may be none later.
 */
#define PUBLISH_FIRST 0x1
#define BRIEF_CENSUS 0x2		/* locks are held meanwhile */
#define GROWTH_DUMP 0x4
#define PUBLISH_LAST 0x8
#define MESSAGE_OVER 0x10		/* the message's context is being reset */

typedef struct Rule
{
	int64		gap_us;			/* smallest gap between two censuses */
	int64		change_bytes;	/* of live bytes, that counts within a tick */
	int			what;
} Rule;

static const Rule rules[PLH_UPKEEP_EVENTS] = {
	[PLH_UPKEEP_SAMPLE_KEPT] = {1000000, PLH_PUBLICATION_BYTES, GROWTH_DUMP | PUBLISH_LAST},
	[PLH_UPKEEP_SAMPLE_NOT_KEPT] = {1000000, 1, PUBLISH_FIRST},
	[PLH_UPKEEP_SHORT_COMMIT] = {250000, 1, PUBLISH_FIRST | BRIEF_CENSUS},
	[PLH_UPKEEP_LONG_COMMIT] = {10000, 1, PUBLISH_FIRST | BRIEF_CENSUS},
	[PLH_UPKEEP_PORTAL_OVER] = {250000, 1, PUBLISH_FIRST | BRIEF_CENSUS},
	[PLH_UPKEEP_STATEMENT_OVER] = {250000, 1, MESSAGE_OVER}
};

/* The last upkeep after each kind of event, and the last commit that was one. */
static struct
{
	int64		ticks[PLH_UPKEEP_EVENTS];
	int64		live_bytes[PLH_UPKEEP_EVENTS];
	int64		commit_tick;
	int64		commit_live_bytes;
}			state;

/* What counts is its remainder. */
PLH_SURVIVES_FORK uint32 plh_upkeep_samples_not_kept;

/*
 * A process that is idle has not what it had when its statement was counted.  So it is looked at
 * again when its message is over: no hook is called then, but the message's context is reset.
 * Where the last count found much of what passes, it is counted at once.
 */
#define MUCH_BYTES ((int64) 1024 * 1024)

static void message_over(void *arg);

/* A child that is forked has its context as its parent had it, callback included. */
static PLH_SURVIVES_FORK MemoryContextCallback message_callback = {message_over};
static PLH_SURVIVES_FORK bool awaits_message;

static void
message_over(void *arg)
{
	awaits_message = false;
	if (plh_guard_held || CritSectionCount > 0 || plh_profile == NULL ||
		plh_profile->pid != getpid())
		return;
	if (plh_profile_file_is_published())
		plh_doorbell_hang_at_once();
	plh_guard_held = true;
	plh_upkeep_run(PLH_UPKEEP_STATEMENT_OVER, plh_clock_us(CLOCK_MONOTONIC_COARSE));
	plh_census_portals_settle();
	plh_guard_held = false;
}

/*
 * Let the figures be looked at when the message is over: after a census, or where a commit had no
 * time for one.  From then on the process may be idle, and must hear who asks it.
 */
static void
await_message(void)
{
	if (awaits_message || MessageContext == NULL)
		return;
	awaits_message = true;
	MemoryContextRegisterResetCallback(MessageContext, &message_callback);
}

/* Follow a census. */
static void
counted(void)
{
	plh_owner_identify();
	plh_process_limit_counted();
	(void) plh_profile_file_verify();
}

/* Count when the message is over: what passed with it is gone. */
static bool
count_at_end(const Rule *rule)
{
	return plh_census_take_at_reset(MessageContext, plh_profile->passing_bytes >= MUCH_BYTES ?
									0 : rule->gap_us);
}

/* Take a census, or let it be taken when the message is over. */
static void
count(const Rule *rule)
{
	bool		is_end = rule->what & MESSAGE_OVER;
	bool		taken = is_end ? count_at_end(rule) :
		plh_census_take_if_older(rule->gap_us, rule->what & BRIEF_CENSUS);

	if (!is_end && (taken || plh_census_is_missing()))
		await_message();
	if (taken)
		counted();
}

static pg_noinline PLH_EVERY_PROCESS void
follow(const Rule *rule)
{
	/* a profile has one writer: a forked child begins one of its own */
	Assert(plh_profile == NULL || plh_profile->pid == getpid());
	if (plh_profile != NULL)
		plh_owner_update_header();
	if (rule->what & PUBLISH_FIRST)
		plh_publication_if_due(rule->gap_us);
	if (plh_profile_file_is_published())
	{
		plh_doorbell_hang();
		count(rule);
	}
	if (rule->what & GROWTH_DUMP)
		plh_growth_dump_if_due();
	if (rule->what & PUBLISH_LAST)
		plh_publication_if_due(rule->gap_us);

	/* the profile may have begun just now */
	if (plh_profile != NULL)
		plh_profile->unsampled_bytes = plh_countdown_unsampled_bytes();
}

static inline int64
live_bytes_now(void)
{
	return plh_profile != NULL ? plh_profile->counters.live_bytes : 0;
}

/*
 * Count for whoever has asked this process to, under the guard; "over" is as in the census.  Nobody
 * asks a process whose profile can't be seen.
 */
static pg_noinline void
answer(MemoryContext over)
{
	uint32		request = plh_errands_asked(PLH_ERRAND_COUNT);

	if (request == 0 || !plh_profile_file_is_published())
		return;
	if (plh_census_take_if_asked(over))
	{
		plh_owner_update_header();
		counted();
	}
	plh_errands_done(PLH_ERRAND_COUNT, request, 0);
}

/* Is it a good moment, outside of palloc or in it? */
void
plh_upkeep_if_asked(void)
{
	int			saved_errno = errno;

	if (!plh_errands_changed(PLH_ERRAND_COUNT) || plh_guard_held || CritSectionCount > 0)
		return;
	plh_guard_held = true;
	answer(NULL);
	plh_guard_held = false;
	errno = saved_errno;
}

/*
 * Do what is due after an event at that time, by a clock that is always the same for events of its
 * kind.  Of samples that are kept, the first few have their upkeep even within a tick, and one of
 * PLH_UPKEEP_SAMPLES.
 */
PLH_EVERY_PROCESS void
plh_upkeep_run(PlhUpkeepEvent event, int64 now_us)
{
	const Rule *rule = &rules[event];
	int64		tick = now_us >> TICK_BITS;
	int64		live_bytes = live_bytes_now();

	Assert(plh_guard_held && CritSectionCount == 0);
	if (unlikely(plh_errands_changed(PLH_ERRAND_COUNT)))
		answer(rule->what & MESSAGE_OVER ? MessageContext : NULL);
	if (tick == state.ticks[event] &&
		labs(live_bytes - state.live_bytes[event]) < rule->change_bytes &&
		(event != PLH_UPKEEP_SAMPLE_KEPT ||
		 (plh_profile->counters.total_samples > PLH_PUBLICATION_SAMPLES &&
		  plh_profile->samples_taken % PLH_UPKEEP_SAMPLES != 0)))
		return;
	state.ticks[event] = tick;
	state.live_bytes[event] = live_bytes;
	follow(rule);
}

/*
 * Is a commit within that tick an event?  There may be tens of thousands in a second, and of these
 * this asks only if another tick has begun, or the process holds something else.
 */
PLH_EVERY_PROCESS bool
plh_upkeep_counts_commit(int64 tick)
{
	int64		live_bytes = live_bytes_now();

	if (likely(tick == state.commit_tick && live_bytes == state.commit_live_bytes))
		return false;
	state.commit_tick = tick;
	state.commit_live_bytes = live_bytes;
	return true;
}

PLH_EVERY_PROCESS void
plh_upkeep_forget(void)
{
	memset(&state, 0, sizeof(state));
}
