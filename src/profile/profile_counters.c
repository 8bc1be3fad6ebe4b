/*
 * profile_counters.c
 *	  The owner's side of a profile: the counters of its sites and its process,
 *	  and their course over time.
 *
 * This code runs inside palloc, and never makes the profile grow.
 */
#include "postgres.h"

#include "storage/proc.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/sampling.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"

/*
 * The transaction of the last sample, and the start of its epoch by the monotonic
 * clock: the system's time may be set back.
 */
static uint32 last_transaction;
static int64 epoch_began_us;

/* Has the epoch a sample whose transaction has not ended yet? */
static bool is_epoch_open;

int64		plh_profile_counters_last_us;
int64		plh_profile_counters_live_bytes[PLH_LIFETIMES];

/*
 * A larger jump between two local transaction ids means that numbering has
 * started anew, not that so many transactions have passed.
 */
#define MAX_TRANSACTIONS_PASSED 10000000

/* Samples are counted here before there is a profile to count them in. */
static struct
{
	int64		samples_taken;
	int64		lost_samples[PLH_LOSSES];
	int64		lost_bytes[PLH_LOSSES];
}			early;

static PlhSiteRecord *
site_at(uint32 offset)
{
	PlhSiteRecord *site = (PlhSiteRecord *) ((char *) plh_profile + offset);

	Assert(offset < plh_profile->used_bytes);
	Assert(site->record.kind == PLH_RECORD_SITE);
	return site;
}

static inline void
add_to_counters(PlhCounters *counters, int64 bytes, uint32 weight,
				double variance, TimestampTz now)
{
	counters->live_bytes += bytes;
	counters->live_count += weight;
	counters->total_bytes += bytes;
	counters->total_count += weight;
	counters->live_samples++;
	counters->total_samples++;
	counters->live_variance += variance;
	if (counters->first_at == 0)
		counters->first_at = now;
	counters->last_at = now;
}

static inline void
subtract_from_counters(PlhCounters *counters, int64 bytes, uint32 weight,
					   double variance)
{
	Assert(counters->live_samples > 0);
	Assert(counters->live_bytes >= bytes && counters->live_count >= weight);
	counters->live_bytes -= bytes;
	counters->live_count -= weight;
	counters->live_samples--;
	counters->live_variance -= variance;

	/* adding and subtracting floating point numbers leaves a rest */
	if (counters->live_samples == 0 || counters->live_variance < 0)
		counters->live_variance = 0;
}

/*
 * Returns the time of a sample.  Within a tick of the clocks it is that of the last one.
 */
static inline TimestampTz
sample_time(void)
{
	static TimestampTz last;
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	if (now_us != plh_profile_counters_last_us)
		last = plh_clock_coarse_now();
	plh_profile_counters_last_us = now_us;
	return last;
}

/*
 * Returns the epoch of the sample that has been timed last.  An epoch is a
 * transaction, or a second of a longer one.  Local transaction ids go up by one
 * each, so that transactions without a sample are counted by those with one.
 */
static inline uint32
current_epoch(PlhProfileHeader *profile)
{
	uint32		transaction = PLH_LOCAL_TRANSACTION();

	is_epoch_open = true;
	if (transaction != last_transaction && transaction != 0)
	{
		uint32		passed = transaction - last_transaction;

		profile->epoch += last_transaction != 0 &&
			passed < MAX_TRANSACTIONS_PASSED ? passed : 1;
		last_transaction = transaction;
		epoch_began_us = plh_profile_counters_last_us;
	}
	else if (plh_profile_counters_last_us - epoch_began_us >= USECS_PER_SEC)
	{
		profile->epoch++;
		epoch_began_us = plh_profile_counters_last_us;
	}
	return profile->epoch;
}

/* Note a site's live figures, at growing distances from its first sample. */
static pg_noinline void
add_checkpoint(PlhSiteRecord *site, uint32 epochs, TimestampTz now)
{
	PlhCheckpoint *last = &site->checkpoints[PLH_CHECKPOINTS - 1];

	memmove(&site->checkpoints[0], &site->checkpoints[1],
			sizeof(PlhCheckpoint) * (PLH_CHECKPOINTS - 1));
	last->epochs = epochs;
	last->live_samples = site->counters.live_samples;
	last->live_bytes = site->counters.live_bytes;
	last->at = now;
	site->next_checkpoint = Min(2 * (uint64) epochs, PG_UINT32_MAX);
}

/* Count the epochs of a site that gets a sample. */
static inline void
note_epoch(PlhSiteRecord *site, uint32 epoch, TimestampTz now)
{
	if (site->transactions == 0 || site->last_transaction != last_transaction)
	{
		site->last_transaction = last_transaction;
		site->transactions++;
	}
	if (site->epochs == 0)
	{
		site->first_epoch = site->last_epoch = epoch;
		site->epochs = 1;
		site->next_checkpoint = 1;
	}
	else if (epoch != site->last_epoch)
	{
		site->last_epoch = epoch;
		site->epochs++;
		if (epoch - site->first_epoch >= site->next_checkpoint)
			add_checkpoint(site, epoch - site->first_epoch, now);
	}
}

/*
 * Note that a site is about to change.  A site should know its live bytes at
 * the peak of the process, and to visit all sites at each new peak would take
 * too long.  So each site notes its live bytes when it changes for the first
 * time after the peak.
 */
static inline void
note_change(PlhProfileHeader *profile, PlhSiteRecord *site)
{
	if (site->last_change <= profile->peak_change)
		site->peak_bytes = site->counters.live_bytes;
	site->last_change = ++profile->last_change;
}

/*
 * Count a live sample of "size" bytes.
 */
void
plh_profile_counters_add(uint32 site_offset, Size size, PlhDraw draw)
{
	PlhProfileHeader *profile = plh_profile;
	PlhSiteRecord *site = site_at(site_offset);
	PlhSampleValue value = plh_sampling_value(size, draw);
	int64		bytes = (int64) size * value.weight;
	TimestampTz now = sample_time();

	Assert(plh_guard_held);
	note_epoch(site, current_epoch(profile), now);
	note_change(profile, site);
	add_to_counters(&site->counters, bytes, value.weight, value.variance, now);
	add_to_counters(&profile->counters, bytes, value.weight, value.variance, now);
	plh_profile_counters_live_bytes[site->key.lifetime] += bytes;
	if (site->key.lifetime == PLH_LIFETIME_PROCESS)
		add_to_counters(&profile->malloc_counters, bytes, value.weight, value.variance,
						now);
	if (profile->counters.live_bytes > profile->peak_bytes)
	{
		profile->peak_bytes = profile->counters.live_bytes;
		profile->peak_at = now;
		profile->peak_change = profile->last_change;
	}
	Assert(site->counters.live_bytes <= profile->counters.live_bytes);
	Assert(site->counters.live_samples <= profile->counters.live_samples);
	profile->samples_taken++;
	if (site_offset == profile->catch_all_site)
		plh_profile_counters_lose(PLH_LOSS_PROFILE, size, draw);
}

/*
 * Undo a call of plh_profile_counters_add with the same arguments.
 */
void
plh_profile_counters_subtract(uint32 site_offset, Size size, PlhDraw draw)
{
	PlhProfileHeader *profile = plh_profile;
	PlhSiteRecord *site = site_at(site_offset);
	PlhSampleValue value = plh_sampling_value(size, draw);
	int64		bytes = (int64) size * value.weight;

	Assert(plh_guard_held);
	note_change(profile, site);
	subtract_from_counters(&site->counters, bytes, value.weight, value.variance);
	subtract_from_counters(&profile->counters, bytes, value.weight, value.variance);
	plh_profile_counters_live_bytes[site->key.lifetime] -= bytes;
	if (site->key.lifetime == PLH_LIFETIME_PROCESS)
		subtract_from_counters(&profile->malloc_counters, bytes, value.weight, value.variance);
}

/*
 * Add the totals of a site that holds nothing to those of another one.  The
 * caller gives up the former.
 */
void
plh_profile_counters_fold(uint32 site_offset, uint32 target_offset)
{
	const PlhCounters *from = &site_at(site_offset)->counters;
	PlhSiteRecord *target = site_at(target_offset);
	PlhCounters *to = &target->counters;

	Assert(plh_guard_held);
	Assert(site_offset != target_offset);
	Assert(from->live_samples == 0 && from->live_bytes == 0);
	Assert(from->total_samples > 0);

	/* only behind this does the target have peak_bytes of its own */
	note_change(plh_profile, target);
	target->peak_bytes += plh_site_peak_bytes(plh_profile,
											  site_at(site_offset));
	to->total_bytes += from->total_bytes;
	to->total_count += from->total_count;
	to->total_samples += from->total_samples;
	to->first_at = to->first_at == 0 ? from->first_at :
		Min(to->first_at, from->first_at);
	to->last_at = Max(to->last_at, from->last_at);
}

/*
 * A site that holds nothing stands for others, too, from now on: forget the
 * course that it took, but not its totals.
 */
void
plh_profile_counters_begin_anew(uint32 site_offset)
{
	PlhSiteRecord *site = site_at(site_offset);

	Assert(plh_guard_held);
	Assert(site->counters.live_samples == 0);
	site->first_epoch = 0;
	site->last_epoch = 0;
	site->epochs = 0;
	site->next_checkpoint = 0;
	site->transactions = 0;
	memset(site->checkpoints, 0, sizeof(site->checkpoints));
}

/*
 * Count a sample of "size" bytes that could not be kept as it should be.
 */
void
plh_profile_counters_lose(PlhLoss loss, Size size, PlhDraw draw)
{
	int64	   *lost_samples = plh_profile != NULL ?
		plh_profile->lost_samples : early.lost_samples;
	int64	   *lost_bytes = plh_profile != NULL ?
		plh_profile->lost_bytes : early.lost_bytes;

	Assert(plh_guard_held);
	Assert(loss >= 0 && loss < PLH_LOSSES);
	lost_samples[loss]++;
	lost_bytes[loss] += (int64) size * plh_sampling_value(size, draw).weight;

	/* a sample at the catch-all site is kept, and is counted as taken there */
	if (loss != PLH_LOSS_PROFILE)
		plh_profile_counters_out_of_scope();
}

/*
 * Count a sample that was taken and is not kept.
 */
void
plh_profile_counters_out_of_scope(void)
{
	if (plh_profile != NULL)
		plh_profile->samples_taken++;
	else
		early.samples_taken++;
}

/*
 * Begin the counters of a new profile with the samples counted before.
 */
void
plh_profile_counters_start(void)
{
	plh_profile->samples_taken = early.samples_taken;
	memcpy(plh_profile->lost_samples, early.lost_samples,
		   sizeof(early.lost_samples));
	memcpy(plh_profile->lost_bytes, early.lost_bytes,
		   sizeof(early.lost_bytes));
}

/*
 * Note that a transaction has ended, of which the last samples may have been.  Most
 * have none, and leave the profile alone: it would be the only look at it, which costs
 * more than all else that is done at the end of a transaction.
 */
PLH_EVERY_PROCESS void
plh_profile_counters_transaction_over(void)
{
	if (!is_epoch_open)
		return;
	is_epoch_open = false;
	if (plh_profile != NULL)
		plh_profile->epoch_over = plh_profile->epoch;
}

/*
 * Forget all counts in a forked child: they are the parent's.
 */
PLH_EVERY_PROCESS void
plh_profile_counters_forget(void)
{
	if (plh_profile_counters_last_us == 0 && early.samples_taken == 0)
		return;					/* nothing was counted */
	last_transaction = 0;
	epoch_began_us = 0;
	is_epoch_open = false;
	plh_profile_counters_last_us = 0;
	memset(plh_profile_counters_live_bytes, 0,
		   sizeof(plh_profile_counters_live_bytes));
	memset(&early, 0, sizeof(early));
}
