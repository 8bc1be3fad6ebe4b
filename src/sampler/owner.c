/*
 * owner.c
 *	  The owner of a profile begins it, says who the process is, looks around
 *	  at samples, and publishes the profile.
 *
 * This code runs inside palloc.
 *
 * A process gets no file before it has kept enough samples to be of interest:
 * most connections end before.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "storage/proc.h"

#include "base/client_names.h"
#include "base/clock.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "dump/growth_dump.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "profile/shared_directory.h"
#include "sampler/census.h"
#include "sampler/owner.h"

/*
 * Publish a profile once it has this many samples or live bytes, or once the
 * process itself is this large without them, through one huge query or a
 * library's malloc.
 */
#define PUBLISH_SAMPLES 5
#define PUBLISH_BYTES ((int64) 8 * 1024 * 1024)
#define PUBLISH_OWN_BYTES ((int64) 16 * 1024 * 1024)

/*
 * Two censuses lie at least this far apart: of a process that is busy, at the end of a
 * short transaction, after which it may go idle, and at the end of a long one, which
 * may have allocated much.
 */
#define BUSY_GAP_US ((int64) 1000 * 1000)
#define SHORT_GAP_US ((int64) 250 * 1000)
#define LONG_GAP_US ((int64) 10 * 1000)
#define LONG_TRANSACTION_US ((int64) 2000)


/* Profiles are published here; the caller of plh_owner_start owns the path. */
static const char *profile_directory;

/* From this many live bytes on, the next sample is such an occasion, too. */
static int64 next_look_bytes;

/* When the sample was taken that was the last such occasion. */
static int64 looked_us;

/*
 * When this process last looked at its own size, or when it was forked: a short
 * connection is over before a look is due.
 */
static int64 own_looked_us;

/*
 * When this process last took stock, for which gap, how, and what it held then.  Within a
 * tick of the coarse clock, in which a busy session ends a hundred transactions,
 * there is nothing to look at unless that has changed.
 */
static int64 stock_us;
static int64 stock_gap_us;
static bool stock_was_brief;
static int64 stock_live_bytes;

/*
 * When a transaction ended last that was an occasion to take stock, in such ticks, and
 * what was held then.
 */
#define TICK_BITS 12			/* a tick has 2^12 microseconds */
static int64 transaction_tick;
static int64 transaction_live_bytes;

uint32		plh_owner_samples_not_kept;

/* The sampling in force, for a profile that begins later. */
static uint32 current_interval;
static int	current_scope;

/* What other threads got of malloc; NULL where malloc is not sampled. */
static const uint64 *malloc_other_bytes;

/*
 * Without room for all of the profile, publishing is tried again after this
 * time: until then somebody may have given room back.  Where the start of the
 * process could not be read, nothing but a read is tried again, and so sooner.
 */
#define PUBLISH_RETRY_US ((int64) 5 * 1000 * 1000)
#define START_RETRY_US ((int64) 50 * 1000)
static int64 next_publish_us;	/* by the monotonic clock; 0: none failed */

/* The database cluster, to which each profile says that it belongs. */
static uint64 system_identifier;

/*
 * Publish profiles of that database cluster in that directory from now on.
 * The path must stay valid.
 */
void
plh_owner_start(const char *directory, uint64 cluster)
{
	profile_directory = directory;
	system_identifier = cluster;
}

/* Copy a name into the header, as far as it fits.  NULL gives an empty one. */
static void
note_name(char *noted, const char *name)
{
	strlcpy(noted, name != NULL ? name : "", PLH_NAME_MAX);
}

/*
 * Fill in, or bring up to date, who the process is.  A process learns its type
 * and its role some time after it was forked.
 */
static void
identify(PlhProfileHeader *header)
{
	header->backend_type = MyBackendType;
	header->database_oid = MyDatabaseId;
	header->role_oid = MyProc != NULL ? MyProc->roleId : InvalidOid;
	header->encoding = GetDatabaseEncoding();
	note_name(header->application_name, plh_client_names_application());
	note_name(header->database, plh_client_names_database());
	note_name(header->role, plh_client_names_role());

	if (!IsUnderPostmaster)
		strlcpy(header->label, IsPostmasterEnvironment ?
				"postmaster" : "standalone backend", sizeof(header->label));
	else if (MyBgworkerEntry != NULL)
		strlcpy(header->label, MyBgworkerEntry->bgw_type,
				sizeof(header->label));
}

/*
 * Begin the profile of this process, which has none.  Returns false if there
 * is no memory for it.
 */
bool
plh_owner_begin_profile(void)
{
	bool		was_held = plh_guard_take();
	bool		begun = plh_profile_begin();

	Assert(CritSectionCount == 0);
	if (begun)
	{
		plh_profile_counters_start();
		plh_profile->pid = getpid();
		plh_profile->started_at = MyStartTimestamp;
		plh_profile->system_identifier = system_identifier;
		identify(plh_profile);
		plh_owner_settings_changed(current_interval, current_scope);
	}
	plh_guard_restore(was_held);
	return begun;
}

/* Say whether malloc is sampled, and what went by. */
static void
note_malloc(PlhProfileHeader *header)
{
	header->malloc_tracked = malloc_other_bytes != NULL && plh_track_malloc;
	if (malloc_other_bytes != NULL)
		header->malloc_other_bytes = __atomic_load_n(malloc_other_bytes,
													 __ATOMIC_RELAXED);
}

/*
 * Malloc is sampled from now on, where settings allow it; the bytes that other
 * threads allocate are counted there.
 */
void
plh_owner_note_malloc(const uint64 *other_bytes)
{
	malloc_other_bytes = other_bytes;
}

/*
 * Note that samples are taken at that interval from now on, 0 for none, and
 * kept of contexts in that scope.
 */
PLH_EVERY_PROCESS void
plh_owner_settings_changed(uint32 sample_interval, int scope)
{
	PlhProfileHeader *header = plh_profile;

	current_interval = sample_interval;
	current_scope = scope;
	if (header == NULL)
		return;
	header->sample_interval = sample_interval;
	header->scope = scope;
	note_malloc(header);
}

/*
 * Take a census if it is due, and bring up to date what a session may change at
 * any time: the name of its application.
 */
static void
take_census(int64 gap_us, bool brief)
{
	if (!plh_census_take_if_older(gap_us, brief))
		return;
	note_name(plh_profile->application_name, plh_client_names_application());
	note_malloc(plh_profile);
	(void) plh_profile_file_verify();
}

/* Is the sample that was just kept an occasion to look around? */
static bool
is_time_to_look(const PlhProfileHeader *header)
{
	return plh_profile_counters_last_us != looked_us ||
		header->counters.total_samples <= PUBLISH_SAMPLES ||
		header->samples_taken % PLH_LOOK_SAMPLES == 0 ||
		header->counters.live_bytes >= next_look_bytes;
}

/* Has this process kept so much that others should see its profile? */
static bool
is_worth_publishing(const PlhCounters *counters)
{
	return counters->total_samples >= PUBLISH_SAMPLES ||
		counters->live_bytes >= PUBLISH_BYTES;
}

/* Publish what others do not see yet, unless that has just failed. */
static void
publish_if_time(void)
{
	if (!plh_profile_file_is_whole() &&
		plh_clock_us(CLOCK_MONOTONIC_COARSE) >= next_publish_us)
		plh_owner_publish();
}

/*
 * Look around: bring the header up to date, take a census, write a growth dump and
 * publish the profile, each if it is due.
 */
static pg_noinline void
look_around(PlhProfileHeader *header)
{
	/* a profile has one writer: a forked child begins one of its own */
	Assert(header->pid == getpid());
	looked_us = plh_profile_counters_last_us;
	next_look_bytes = header->counters.live_bytes + PUBLISH_BYTES;
	header->wrong_stacks = plh_unwind_wrong_stacks;
	header->private_bytes = plh_private_memory_bytes() -
		plh_profile_file_bytes();
	if (header->backend_type != MyBackendType ||
		header->database_oid != MyDatabaseId ||
		(header->role_oid == InvalidOid && MyProc != NULL))
		identify(header);
	if (plh_profile_file_is_published())
		take_census(BUSY_GAP_US, false);

	plh_growth_dump_if_due();

	if (plh_profile_file_is_published() ||
		is_worth_publishing(&header->counters))
		publish_if_time();
}

/*
 * Look around after a sample was taken and, unless it was lost, kept, if that is the
 * time for it.
 */
void
plh_owner_sampled(void)
{
	Assert(plh_guard_held && CritSectionCount == 0);
	if (unlikely(is_time_to_look(plh_profile)))
		look_around(plh_profile);
}

/*
 * Is this process so large that it should have a profile?  The answer is no if
 * the last look was less than "gap_us" ago.
 */
static bool
is_large(int64 gap_us)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	if (now_us < own_looked_us + gap_us)
		return false;
	own_looked_us = now_us;
	return plh_process_facts_owns(PUBLISH_OWN_BYTES);
}

/* What this process holds, at its samples' estimate. */
static inline int64
live_bytes_now(void)
{
	return plh_profile != NULL ? plh_profile->counters.live_bytes : 0;
}

/*
 * Has time passed since stock was taken for that gap or a shorter one, and no more
 * briefly, or has what is held changed?
 */
static bool
is_time_for_stock(int64 gap_us, bool brief)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	int64		live_bytes = live_bytes_now();

	if (now_us == stock_us && gap_us >= stock_gap_us &&
		(brief || !stock_was_brief) && live_bytes == stock_live_bytes)
		return false;
	stock_us = now_us;
	stock_gap_us = gap_us;
	stock_was_brief = brief;
	stock_live_bytes = live_bytes;
	return true;
}

/*
 * Take a census of the process, which may have grown without a sample that was
 * kept, unless the last one was less than "gap_us" ago; if "brief", only one
 * that takes no time worth mentioning.  A process that has become large gets a
 * profile first.
 */
static void
take_stock(int64 gap_us, bool brief)
{
	Assert(plh_guard_held && CritSectionCount == 0);
	if (!is_time_for_stock(gap_us, brief))
		return;

	/* the process may keep nothing more, and so come here only */
	if (next_publish_us != 0)
		publish_if_time();
	if (!plh_profile_file_is_published())
	{
		if (current_interval == 0 || !is_large(gap_us) ||
			(plh_profile == NULL &&
			 !plh_owner_begin_profile()))
			return;
		publish_if_time();
	}
	if (plh_profile_file_is_published())
		take_census(gap_us, brief);
}

/*
 * Look around after a sample was taken that is not kept, if that is an occasion
 * (plh_owner_is_occasion).
 */
void
plh_owner_sample_not_kept(void)
{
	take_stock(BUSY_GAP_US, false);
}

/*
 * A transaction has committed at that time: is that an occasion to take stock?  Of those
 * that end within a tick, which are a dozen and more in a busy session, the first is
 * enough, unless what is held has changed: stock is taken once in SHORT_GAP_US at most,
 * and a tick or two make no difference to that.
 */
PLH_EVERY_PROCESS bool
plh_owner_wants_stock(TimestampTz end)
{
	if (end >> TICK_BITS == transaction_tick &&
		live_bytes_now() == transaction_live_bytes)
		return false;
	transaction_tick = end >> TICK_BITS;
	transaction_live_bytes = live_bytes_now();
	return true;
}

/*
 * Take stock when a transaction of that length has committed; briefly, as it still has
 * its locks.
 */
PLH_EVERY_PROCESS void
plh_owner_transaction_over(int64 length_us)
{
	take_stock(length_us < LONG_TRANSACTION_US ? SHORT_GAP_US : LONG_GAP_US, true);
}

/*
 * Publish the profile.  The directory may have been removed: then it is made
 * again.  Meanwhile anybody may have made one of that name, which is not used.
 */
static bool
publish_in_directory(void)
{
	return plh_shared_directory_make(profile_directory) == PLH_DIRECTORY_FINE &&
		plh_profile_file_publish(profile_directory);
}

/*
 * Does this process know when it started, which never changes?  Without that, nobody
 * could tell its profile from that of a later process with its pid.
 */
static bool
knows_start(PlhProfileHeader *header)
{
	if (header->process_start == 0 ||
		header->process_start == PLH_TICKS_UNKNOWN)
		header->process_start = plh_process_facts_start_ticks(header->pid);
	return header->process_start != PLH_TICKS_UNKNOWN;
}

/* Publishing has failed. */
static void
try_again_after(int64 pause_us)
{
	next_publish_us = plh_clock_us(CLOCK_MONOTONIC_COARSE) + pause_us;
}

/*
 * Make the profile visible to other processes, if there is one, as far as
 * there is room for it.
 */
void
plh_owner_publish(void)
{
	PlhProfileHeader *header = plh_profile;
	bool		was_held;

	Assert(CritSectionCount == 0);
	if (header == NULL ||
		(plh_profile_file_verify() && plh_profile_file_is_whole()))
		return;

	was_held = plh_guard_take();
	identify(header);
	header->profile_bytes = plh_profile_file_bytes();
	if (!knows_start(header))
		try_again_after(START_RETRY_US);
	else if (!publish_in_directory())
		try_again_after(PUBLISH_RETRY_US);
	else
		next_publish_us = 0;
	plh_guard_restore(was_held);
}

/*
 * Forget the profile in a forked child, and all that was noted about it: they
 * are the parent's.
 */
PLH_EVERY_PROCESS void
plh_owner_forget(void)
{
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_census_forget();
	plh_growth_dump_forget();
	next_publish_us = 0;
	next_look_bytes = 0;
	looked_us = 0;
	stock_us = 0;
	transaction_tick = 0;
	transaction_live_bytes = 0;
	own_looked_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
}
