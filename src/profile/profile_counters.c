/*
 * profile_counters.c
 *	  The owner's side of a profile: the counters of its sites and its process, and peaks.
 *
 * This code runs inside palloc.  The profile grows here by the spans of sites that are sampled in
 * more than one span of time.
 */
#include "postgres.h"

#include "port/atomics.h"
#include "storage/proc.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/page_layout.h"
#include "profile/profile_counters.h"
#include "profile/profile_records.h"

PlhRun		plh_profile_run = {.peak_live_bytes = PG_INT64_MAX};

/* A larger jump of local transaction ids means that their numbering has started anew. */
#define MAX_TRANSACTIONS_PASSED 10000000

PlhHeld		plh_profile_counters_held;

static struct
{
	/*
	 * The last sample: its time, its transaction, and the start of its epoch
	 * by the monotonic clock, as the system's time may be set back.
	 */
	TimestampTz last_time;
	uint32		last_transaction;
	int64		epoch_began_us;
	uint32		tick;			/* in which that epoch began */

	/*
	 * The sample that was freed since the last one was taken; 0: none.  The
	 * record of its site may have been given up since.
	 */
	uint32		freed_site;
	int64		freed_bytes;

	/* Has the epoch a sample whose transaction has not ended yet? */
	bool		is_epoch_open;

	/* Samples are counted here before there is a profile to count them in. */
	struct
	{
		int64		samples_taken;
		int64		lost_samples[PLH_LOSSES];
		int64		lost_bytes[PLH_LOSSES];
	}			early;
}			state;

static inline uint32
in_kb(int64 bytes)
{
	return bytes <= 0 ? 0 : Min((uint64) bytes >> 10, PG_UINT32_MAX);
}

/* Note what a site held before its first change in the run or since its peak. */
static inline void
note_site_in_run(PlhSiteRecord *site)
{
	uint32		kb;

	if (site->last_change > plh_profile_run.peak_change)
		return;
	kb = in_kb(site->counters.live_bytes);
	if (site->last_change <= plh_profile_run.start_change)
		site->run_start_kb = kb;
	site->run_peak_kb = kb;
}

void
plh_profile_counters_begin_run(void)
{
	const PlhCounters *counters = &plh_profile->counters;
	PlhRun	   *run = &plh_profile_run;

	Assert(plh_guard_held);
	run->peak_live_bytes = counters->live_bytes;
	run->peak_variance = counters->live_variance;
	run->peak_samples = counters->live_samples;
	run->start_change = run->peak_change = plh_profile->last_change;
	run->peak_at = counters->last_at;
	run->private_bytes = 0;
	run->is_due = false;
}

int64
plh_profile_counters_run_kb(const PlhSiteRecord *site)
{
	const PlhRun *run = &plh_profile_run;

	if (site->last_change <= run->start_change)
		return 0;
	return (int64) (site->last_change <= run->peak_change ?
					in_kb(site->counters.live_bytes) : site->run_peak_kb) -
		site->run_start_kb;
}

static PlhSiteRecord *
site_at(uint32 offset)
{
	PlhSiteRecord *site = (PlhSiteRecord *) ((char *) plh_profile + offset);

	Assert(offset < plh_profile->used_bytes);
	Assert(site->record.kind == PLH_RECORD_SITE);
	return site;
}

static inline void
add_to_counters(PlhCounters *counters, int64 bytes, uint32 weight, double variance, TimestampTz now)
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
subtract_from_counters(PlhCounters *counters, int64 bytes, uint32 weight, double variance)
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

/* Returns the time of a sample.  Within a tick of the clocks it is that of the last one. */
static inline TimestampTz
sample_time(void)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	if (now_us != plh_profile_counters_held.at_us)
	{
		state.last_time = plh_clock_coarse_now();
		plh_profile->first_tick_at = state.last_time - now_us;
	}
	plh_profile_counters_held.at_us = now_us;
	return state.last_time;
}

/* An epoch begins with the sample that has been timed last. */
static inline void
begin_epoch(void)
{
	state.epoch_began_us = plh_profile_counters_held.at_us;
	state.tick = (uint32) (state.epoch_began_us >> PLH_TICK_BITS);
}

/*
 * Returns the epoch of the sample that has been timed last.  An epoch is a transaction, or a second
 * of a longer one.  Local transaction ids go up by one each, so that transactions without a sample
 * are counted by those with one.
 */
static inline uint32
current_epoch(PlhProfileHeader *profile)
{
	uint32		transaction = PLH_LOCAL_TRANSACTION();

	state.is_epoch_open = true;
	if (transaction != state.last_transaction && transaction != 0)
	{
		uint32		passed = transaction - state.last_transaction;

		profile->epoch += state.last_transaction != 0 &&
			passed < MAX_TRANSACTIONS_PASSED ? passed : 1;
		state.last_transaction = transaction;
		begin_epoch();
	}
	else if (plh_profile_counters_held.at_us - state.epoch_began_us >= USECS_PER_SEC)
	{
		profile->epoch++;
		begin_epoch();
	}
	return profile->epoch;
}

/*
 * Note a site's live figures, at growing distances from its first sample.  A buffer that is being
 * enlarged has been freed, and is there again in a moment: it counts.
 */
static pg_noinline void
add_checkpoint(PlhSiteRecord *site, uint32 epochs, TimestampTz now)
{
	PlhCheckpoint *last = &site->checkpoints[PLH_CHECKPOINTS - 1];

	memmove(&site->checkpoints[0], &site->checkpoints[1],
			sizeof(PlhCheckpoint) * (PLH_CHECKPOINTS - 1));
	last->epochs = epochs;
	last->live_samples = site->counters.live_samples;
	last->live_bytes = site->counters.live_bytes;
	if (state.freed_site == (uint32) ((char *) site - (char *) plh_profile))
	{
		last->live_samples++;
		last->live_bytes += state.freed_bytes;
	}
	last->at = now;
	site->next_checkpoint = Min(2 * (uint64) epochs, PG_UINT32_MAX);
}

/* The number of the span in which a site's sample of that tick was born. */
static inline uint32
span_of(const PlhBirths *births, uint32 tick)
{
	return ((tick - births->first_tick) & ((1 << PLH_BIRTH_BITS) - 1)) >> births->shift;
}

static inline PlhSpansRecord *
spans_at(uint32 offset)
{
	PlhSpansRecord *record = plh_profile_records_at(offset);

	Assert(record->record.kind == PLH_RECORD_SPANS);
	return record;
}

/* Make spans longer, until they cover that tick. */
static pg_noinline void
widen_spans(PlhSpansRecord *record, uint32 tick)
{
	PlhSpan    *spans = record->spans;

	while (span_of(&record->births, tick) >= PLH_SPANS)
	{
		record->births.shift++;
		for (int i = 0; i < PLH_SPANS / 2; i++)
		{
			spans[i].live_bytes = spans[2 * i].live_bytes + spans[2 * i + 1].live_bytes;
			spans[i].total_bytes = spans[2 * i].total_bytes + spans[2 * i + 1].total_bytes;
		}
		memset(&spans[PLH_SPANS / 2], 0, sizeof(PlhSpan) * (PLH_SPANS / 2));
	}
}

static inline void
cover(PlhSiteRecord *site, uint32 tick)
{
	while (span_of(&site->births, tick) > 0)
		site->births.shift++;
	if (site->spans != 0 && unlikely(span_of(&spans_at(site->spans)->births, tick) >= PLH_SPANS))
		widen_spans(spans_at(site->spans), tick);
}

static inline void
add_to_spans(PlhSpansRecord *record, uint32 tick, int64 bytes)
{
	uint32		span = span_of(&record->births, tick);

	Assert(span < PLH_SPANS);
	record->spans[span].live_bytes += bytes;
	record->spans[span].total_bytes += bytes;
}

/* Count what is born in the epoch that the site has noted. */
static inline void
add_birth(PlhSiteRecord *site, uint32 tick, int64 bytes)
{
	site->born_bytes += bytes;
	if (site->spans != 0)
		add_to_spans(spans_at(site->spans), tick, bytes);
}

/* Undo that for what is gone, but for the total. */
static inline void
subtract_birth(PlhSiteRecord *site, uint32 tick, int64 bytes)
{
	if (site->spans != 0)
	{
		PlhSpansRecord *record = spans_at(site->spans);
		uint32		span = span_of(&record->births, tick);

		Assert(span < PLH_SPANS && record->spans[span].live_bytes >= bytes);
		record->spans[span].live_bytes -= bytes;
	}
}

static inline void
note_epoch(PlhSiteRecord *site, uint32 epoch, TimestampTz now)
{
	if (site->transactions == 0 || site->last_transaction != state.last_transaction)
	{
		site->last_transaction = state.last_transaction;
		site->transactions++;
	}
	if (site->epochs == 0)
	{
		site->first_epoch = site->last_epoch = epoch;
		site->epochs = 1;
		site->next_checkpoint = 1;
		site->births.first_tick = state.tick;
	}
	else if (epoch != site->last_epoch)
	{
		site->last_epoch = epoch;
		site->epochs++;
		if (epoch - site->first_epoch >= site->next_checkpoint)
			add_checkpoint(site, epoch - site->first_epoch, now);
		cover(site, state.tick);
	}
}

/*
 * Begin to change a site.  A site should know its live bytes at the peak of the process, and to
 * visit all sites at each new peak would take too long.  So each site notes its live bytes when it
 * changes for the first time after the peak.
 */
static inline uint64
begin_change(PlhProfileHeader *profile, PlhSiteRecord *site)
{
	uint64		number = profile->last_change + 1;

	if (site->last_change <= profile->peak_change)
		site->peak_bytes = site->counters.live_bytes;
	note_site_in_run(site);
	site->last_change = number;
	profile->last_change = number;

	/* whoever sees a changed counter must see that a change has begun */
	pg_write_barrier();
	return number;
}

/* End that change: readers may take the counters as they are now. */
static inline void
end_change(PlhProfileHeader *profile, PlhSiteRecord *site, uint64 number)
{
	pg_write_barrier();
	site->record.references = (uint32) number;
	profile->settled = (uint32) number;
}

/*
 * The sample of that many bytes that has just been counted is of a later span than those before it,
 * where spans have 2^shift ticks: let the site have a record of such.  Nothing is given up for
 * that.  Without room we are called again when its life has become twice as long.
 */
static pg_noinline void
begin_spans(PlhSiteRecord *site, uint32 shift, int64 bytes)
{
	PlhSpansRecord *record = plh_profile_records_take(sizeof(PlhSpansRecord));
	uint32		offset;
	uint64		number;

	Assert(site->spans == 0 && site->counters.live_samples > 0);
	if (record == NULL)
		return;
	record->births.first_tick = site->births.first_tick;
	record->births.shift = shift;
	record->spans[0].live_bytes = site->counters.live_bytes - bytes;
	record->spans[0].total_bytes = site->born_bytes - bytes;
	widen_spans(record, state.tick);
	add_to_spans(record, state.tick, bytes);
	offset = plh_profile_records_add(record, PLH_RECORD_SPANS,
									 sizeof(PlhSpansRecord), site->record.hash);

	/* readers that know the site without it read the site again */
	number = begin_change(plh_profile, site);
	site->spans = offset;
	end_change(plh_profile, site, number);
}

/*
 * Count a live sample, whose chunk takes "spare" bytes more than its size.  Returns the tick of its
 * birth, which the caller keeps with it.
 */
uint32
plh_profile_counters_add(uint32 site_offset, Size size, Size spare, PlhDraw draw)
{
	PlhProfileHeader *profile = plh_profile;
	PlhSiteRecord *site = site_at(site_offset);
	PlhSampleValue value = plh_sampling_value(size, draw);
	int64		bytes = (int64) size * value.weight;
	TimestampTz now = sample_time();
	uint64		number;
	uint32		shift = site->births.shift;

	Assert(plh_guard_held);
	number = begin_change(profile, site);
	note_epoch(site, current_epoch(profile), now);
	state.freed_site = 0;
	add_to_counters(&site->counters, bytes, value.weight, value.variance, now);
	site->spare_bytes += (float) spare * value.weight;
	add_birth(site, state.tick, bytes);
	add_to_counters(&profile->counters, bytes, value.weight, value.variance, now);
	plh_profile_counters_held.live_bytes[site->key.lifetime] += bytes;
	if (site->key.lifetime == PLH_LIFETIME_PROCESS)
		add_to_counters(&profile->malloc_counters, bytes, value.weight, value.variance, now);
	if (profile->counters.live_bytes > profile->peak_bytes)
	{
		profile->peak_bytes = profile->counters.live_bytes;
		profile->peak_at = now;
		profile->peak_change = number;
	}
	plh_profile_run_note_peak(profile, number, now);
	end_change(profile, site, number);
	if (unlikely(site->births.shift != shift && site->spans == 0))
		begin_spans(site, shift, bytes);
	Assert(site->counters.live_bytes <= profile->counters.live_bytes);
	Assert(site->counters.live_samples <= profile->counters.live_samples);
	profile->samples_taken++;
	if (site_offset == profile->catch_all_site)
		plh_profile_counters_count_lost(PLH_LOSS_PROFILE, size, draw);
	return state.tick;
}

/* Undo a call of plh_profile_counters_add with the same arguments, which returned that tick. */
void
plh_profile_counters_subtract(uint32 site_offset, Size size, PlhDraw draw, uint32 tick)
{
	PlhProfileHeader *profile = plh_profile;
	PlhSiteRecord *site = site_at(site_offset);
	PlhSampleValue value = plh_sampling_value(size, draw);
	int64		bytes = (int64) size * value.weight;
	uint64		number;

	Assert(plh_guard_held);
	number = begin_change(profile, site);
	subtract_from_counters(&site->counters, bytes, value.weight, value.variance);
	subtract_birth(site, tick, bytes);
	subtract_from_counters(&profile->counters, bytes, value.weight, value.variance);
	plh_profile_counters_held.live_bytes[site->key.lifetime] -= bytes;
	state.freed_site = site_offset;
	state.freed_bytes = bytes;
	if (site->key.lifetime == PLH_LIFETIME_PROCESS)
		subtract_from_counters(&profile->malloc_counters, bytes, value.weight, value.variance);
	end_change(profile, site, number);
}

/* Add the totals of a site that holds nothing, and that the caller gives up, to another one. */
void
plh_profile_counters_fold(uint32 site_offset, uint32 target_offset)
{
	const PlhCounters *from = &site_at(site_offset)->counters;
	PlhSiteRecord *target = site_at(target_offset);
	PlhCounters *to = &target->counters;
	uint64		number;

	Assert(plh_guard_held);
	Assert(site_offset != target_offset);
	Assert(from->live_samples == 0 && from->live_bytes == 0);
	Assert(from->total_samples > 0);

	/* only behind this does the target have peak_bytes of its own */
	number = begin_change(plh_profile, target);
	target->peak_bytes += plh_site_peak_bytes(plh_profile, site_at(site_offset));
	to->total_bytes += from->total_bytes;
	target->spare_bytes += site_at(site_offset)->spare_bytes;
	to->total_count += from->total_count;
	to->total_samples += from->total_samples;
	to->first_at = to->first_at == 0 ? from->first_at : Min(to->first_at, from->first_at);
	to->last_at = Max(to->last_at, from->last_at);
	end_change(plh_profile, target, number);
}

/*
 * A site that holds nothing stands for others, too, from now on: forget the course that it took,
 * but not its totals.  The caller has given up its spans.
 */
void
plh_profile_counters_begin_anew(uint32 site_offset)
{
	PlhSiteRecord *site = site_at(site_offset);

	Assert(plh_guard_held);
	Assert(site->counters.live_samples == 0 && site->spans == 0);
	site->first_epoch = 0;
	site->last_epoch = 0;
	site->epochs = 0;
	site->next_checkpoint = 0;
	site->transactions = 0;
	memset(site->checkpoints, 0, sizeof(site->checkpoints));
	memset(&site->births, 0, sizeof(site->births));
	site->born_bytes = 0;
}

/* Count a sample of "size" bytes that could not be kept as it should be. */
void
plh_profile_counters_count_lost(PlhLoss loss, Size size, PlhDraw draw)
{
	int64	   *lost_samples = plh_profile != NULL ?
		plh_profile->lost_samples : state.early.lost_samples;
	int64	   *lost_bytes = plh_profile != NULL ? plh_profile->lost_bytes : state.early.lost_bytes;

	Assert(plh_guard_held);
	Assert(loss >= 0 && loss < PLH_LOSSES);
	lost_samples[loss]++;
	lost_bytes[loss] += (int64) size * plh_sampling_value(size, draw).weight;

	/* a sample at the catch-all site is kept, and is counted as taken there */
	if (loss != PLH_LOSS_PROFILE)
		plh_profile_counters_out_of_scope();
}

/* Count a sample that was taken and is not kept. */
void
plh_profile_counters_out_of_scope(void)
{
	if (plh_profile != NULL)
		plh_profile->samples_taken++;
	else
		state.early.samples_taken++;
}

/* Begin the counters of a new profile with the samples counted before. */
void
plh_profile_counters_start(void)
{
	plh_profile->samples_taken = state.early.samples_taken;
	memcpy(plh_profile->lost_samples, state.early.lost_samples, sizeof(state.early.lost_samples));
	memcpy(plh_profile->lost_bytes, state.early.lost_bytes, sizeof(state.early.lost_bytes));
}

/*
 * Note that a transaction has ended, of which the last samples may have been.  Most have none, and
 * leave the profile alone: it would be the only look at it, which costs more than all else that is
 * done at the end of a transaction.  Returns whether it had one.
 */
PLH_EVERY_PROCESS bool
plh_profile_counters_transaction_over(void)
{
	if (!state.is_epoch_open)
		return false;
	state.is_epoch_open = false;
	if (plh_profile != NULL)
		plh_profile->epoch_over = plh_profile->epoch;
	return true;
}

/* Forget all counts in a forked child: they are the parent's. */
PLH_EVERY_PROCESS void
plh_profile_counters_forget(void)
{
	memset(&state, 0, sizeof(state));
	memset(&plh_profile_counters_held, 0, sizeof(plh_profile_counters_held));
	memset(&plh_profile_run, 0, sizeof(plh_profile_run));
	plh_profile_run.peak_live_bytes = PG_INT64_MAX; /* nothing is followed */
}
