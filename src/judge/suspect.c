/*
 * suspect.c
 *	  Tells a leak from a cache, by the figures of a call site.
 *
 * All thresholds are in suspect.h.
 *
 * The figures come from a profile whose owner goes on writing, or from a file that anything may
 * have happened to.  So no difference is taken that could wrap around, nothing is divided by zero,
 * and what becomes an integer is brought into its range before.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "datatype/timestamp.h"

#include "base/sampling.h"
#include "judge/suspect.h"
#include "profile/profile_image.h"

/*
 * The header of a profile is read before the sites.  Within that moment a process does not begin
 * this many epochs; a later epoch that is further ahead is one of a count that has wrapped around.
 */
#define EPOCHS_AHEAD_MAX ((uint32) 1 << 28)

/* left + right, or the limit that it goes beyond. */
static int64
add(int64 left, int64 right)
{
	int64		sum;

	if (pg_add_s64_overflow(left, right, &sum))
		return left < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	return sum;
}

/* left - right, or the limit that it goes beyond. */
static int64
subtract(int64 left, int64 right)
{
	int64		difference;

	if (pg_sub_s64_overflow(left, right, &difference))
		return left < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	return difference;
}

/* An estimate of 0 or more as an integer, of half the range at most. */
static int64
whole_bytes(double bytes)
{
	/* Min takes its second argument where the first is not a number */
	return (int64) Min(bytes, (double) (PG_INT64_MAX / 2));
}

/* The number at that part, 0 to 1, of the way from one to another. */
static int64
between(int64 from, int64 to, double part)
{
	double		bytes = from + part * ((double) to - (double) from);

	return (int64) Max(-(double) (PG_INT64_MAX / 2), Min(bytes, (double) (PG_INT64_MAX / 2)));
}

/* Epochs from one to another; 0 if the latter is older. */
static int64
epochs_between(uint32 from, uint32 to)
{
	uint32		passed = to - from;

	return passed > PG_UINT32_MAX - EPOCHS_AHEAD_MAX ? 0 : passed;
}

/*
 * Epochs of a site's life.  A checkpoint is made when its epoch begins, so that the current one
 * counts.
 */
int64
plh_suspect_age(const PlhProfileHeader *header, const PlhSiteRecord *site)
{
	int64		to_header = epochs_between(site->first_epoch, header->epoch);
	int64		to_sample = epochs_between(site->first_epoch, site->last_epoch);

	/* the site may have got a sample after the header was read */
	return Max(to_header, to_sample) + 1;
}

/* The youngest checkpoint that lies in the first half of a site's life up to now, or NULL. */
const PlhCheckpoint *
plh_suspect_early_checkpoint(const PlhSiteRecord *site, int64 age_epochs)
{
	for (int i = PLH_CHECKPOINTS - 1; i >= 0; i--)
	{
		const PlhCheckpoint *checkpoint = &site->checkpoints[i];

		if (checkpoint->epochs != 0 && checkpoint->epochs <= age_epochs / 2)
			return checkpoint;
	}
	return NULL;
}

/*
 * The facts of one site, without a baseline.  The caller sets counted_to, and baseline_at where it
 * is known.
 */
void
plh_suspect_collect(PlhSuspectFacts *facts, const PlhProfileHeader *header,
					const PlhSiteRecord *site)
{
	const PlhCheckpoint *early;

	memset(facts, 0, sizeof(*facts));
	facts->live_bytes = site->counters.live_bytes;
	facts->live_count = site->counters.live_count;
	facts->total_bytes = site->counters.total_bytes;
	facts->spare_bytes = (int64) Min(plh_site_spare_part(site) * (double) facts->total_bytes,
									 (double) (PG_INT64_MAX / 2));
	facts->live_samples = site->counters.live_samples;
	facts->live_variance = site->counters.live_variance;
	facts->epochs = site->epochs;
	facts->transactions = site->transactions;
	facts->is_session = plh_lifetime_is_lasting(site->key.lifetime);
	facts->is_malloc = site->key.lifetime == PLH_LIFETIME_PROCESS;
	facts->is_over = epochs_between(site->last_epoch, header->epoch_over) > 0 ||
		site->last_epoch == header->epoch_over;
	facts->age_epochs = plh_suspect_age(header, site);
	facts->sites = 1;
	facts->statements = 1;
	facts->active_to = Max(plh_profile_image_worked_at(header), header->counters.last_at);
	facts->first_at = site->counters.first_at;
	facts->last_at = site->counters.last_at;
	early = plh_suspect_early_checkpoint(site, facts->age_epochs);
	if (early != NULL)
		facts->early = *early;
}

/* There is a baseline, at which the site held that many bytes. */
void
plh_suspect_subtract_baseline(PlhSuspectFacts *facts, int64 baseline_bytes)
{
	facts->has_baseline = true;
	facts->growth_bytes = subtract(facts->live_bytes, baseline_bytes);
}

/*
 * Add a site to the sum of several that differ in their statement.  The sum begins as zeros.  Its
 * early checkpoint is for plh_suspect_pool_early, once the age of the sum is known.  Its epochs and
 * transactions are those of all sites: several of these may be the same.
 *
 * A site that holds nothing any more counts for what was freed since the baseline, and is no
 * statement that holds something.
 */
void
plh_suspect_pool(PlhSuspectFacts *sum, const PlhSuspectFacts *site)
{
	sum->is_session = site->is_session;
	sum->is_malloc = site->is_malloc;
	sum->limit_bytes = Max(sum->limit_bytes, site->limit_bytes);
	sum->live_bytes = add(sum->live_bytes, site->live_bytes);
	sum->live_count = add(sum->live_count, site->live_count);
	sum->total_bytes = add(sum->total_bytes, site->total_bytes);
	sum->spare_bytes = add(sum->spare_bytes, site->spare_bytes);
	sum->live_samples = add(sum->live_samples, site->live_samples);
	sum->live_variance += site->live_variance;
	sum->has_baseline = site->has_baseline;
	sum->growth_bytes = add(sum->growth_bytes, site->growth_bytes);
	sum->baseline_at = site->baseline_at;
	sum->counted_to = site->counted_to;
	sum->first_at = sum->first_at == 0 ? site->first_at : Min(sum->first_at, site->first_at);
	sum->last_at = Max(sum->last_at, site->last_at);
	sum->fall_bytes = site->fall_bytes;
	sum->counted_early = (sum->counts == 0 || sum->counted_early) && site->counted_early;
	sum->counts = site->counts;
	sum->active_to = site->active_to;
	plh_proven_pool(&sum->proven, &site->proven);
	if (site->live_samples > 0)
	{
		sum->is_over = (sum->sites == 0 || sum->is_over) && site->is_over;
		sum->sites++;
		sum->statements++;
		sum->transactions = add(sum->transactions, site->transactions);
		sum->epochs = add(sum->epochs, site->epochs);
		sum->age_epochs = Max(sum->age_epochs, site->age_epochs);
	}
}

/*
 * Add to the early checkpoint of a sum, which lies in the middle of its life, what a site held
 * then.  Between two checkpoints of the site, it is taken to have grown steadily.
 */
void
plh_suspect_pool_early(PlhSuspectFacts *sum, const PlhSiteRecord *site,
					   const PlhSuspectFacts *facts)
{
	int64		middle = sum->age_epochs / 2;	/* in epochs before now */
	int64		age = facts->age_epochs;
	int64		idle = Max(0, age - 1 - epochs_between(site->first_epoch, site->last_epoch));
	const PlhCheckpoint first = {.at = site->counters.first_at};
	PlhCheckpoint before = first;
	PlhCheckpoint after = {
		.epochs = age - idle,
		.live_samples = facts->live_samples,
		.live_bytes = facts->live_bytes,
		.at = site->counters.last_at
	};
	double		part = 1.0;

	if (middle == 0 || age <= middle)
		return;
	for (int i = PLH_CHECKPOINTS - 1; i >= 0; i--)
	{
		const PlhCheckpoint *checkpoint = &site->checkpoints[i];

		if (checkpoint->epochs == 0)
			continue;
		before = *checkpoint;
		if (checkpoint->epochs <= age - middle)
			break;
		after = *checkpoint;
		before = first;
	}
	if (after.epochs > age - middle && after.epochs > before.epochs)
		part = (double) (age - middle - before.epochs) / (after.epochs - before.epochs);
	sum->early.epochs = Min(sum->age_epochs - middle, PG_UINT32_MAX);
	sum->early.live_bytes = add(sum->early.live_bytes, between(before.live_bytes, after.live_bytes,
															   part));
	sum->early.live_samples += (uint32) between(before.live_samples, after.live_samples, part);
	sum->early.at = Max(sum->early.at, between(before.at, after.at, part));
}

/* Compare the gain since the early checkpoint with the gain before it. */
static void
compare_with_early(PlhJudgement *judgement, const PlhSuspectFacts *facts)
{
	const PlhCheckpoint *early = &facts->early;
	double		early_rate;
	double		late_rate;

	if (early->epochs == 0)
		return;
	judgement->late_bytes = subtract(facts->live_bytes, early->live_bytes);
	judgement->late_samples = subtract(facts->live_samples, early->live_samples);
	judgement->late_epochs = subtract(facts->age_epochs, early->epochs);
	if (early->live_bytes <= 0 || judgement->late_epochs <= 0)
		return;
	early_rate = (double) early->live_bytes / early->epochs;
	late_rate = (double) judgement->late_bytes / judgement->late_epochs;
	judgement->has_steadiness = true;
	judgement->steadiness = Max(0.0, late_rate / early_rate);
}

/* The 95% bound of what is held, from the samples of all sites together. */
static double
error_of(const PlhSuspectFacts *facts)
{
	return plh_sampling_error_bytes(facts->live_variance, facts->live_bytes, facts->live_samples);
}

/* Is it known well enough how much is held? */
static bool
is_known(const PlhSuspectFacts *facts)
{
	return error_of(facts) <= PLH_SUSPECT_ERROR_PART * (double) facts->live_bytes;
}

/* The standard deviation of what that many samples of the site stand for. */
static double
deviation_of(const PlhSuspectFacts *facts, double samples)
{
	return sqrt(Max(0.0, facts->live_variance) / Max(1, facts->live_samples) * Max(1.0, samples));
}

/*
 * The deviation that chance makes where much of what is allocated is freed.  Chunks that are larger
 * than the interval are all sampled, and have none; but then, what is kept must have been growing
 * without a fall.
 */
static double
deviation_by_frees(const PlhSuspectFacts *facts)
{
	double		survival = 0.0;
	double		samples = (double) facts->early.live_samples + (double) facts->live_samples;

	/* the owner may be between counting the one and the other */
	if (facts->total_bytes > 0)
		survival = (double) facts->live_bytes / (double) facts->total_bytes;
	return deviation_of(facts, (1.0 - Max(0.0, Min(1.0, survival))) * samples);
}

/* Does what was gained since the early checkpoint stand out of chance? */
static bool
has_gained(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	double		gained = (double) judgement->late_bytes;

	return gained > 0 &&
		gained >= PLH_SUSPECT_GAIN_SIGMAS * deviation_of(facts, judgement->late_samples) &&
		gained >= PLH_SUSPECT_LATE_SIGMAS * deviation_by_frees(facts);
}

/* Samples of chunks that are larger than the interval are few, and exact. */
static bool
is_exact(const PlhSuspectFacts *facts)
{
	return error_of(facts) * 8 <= (double) facts->live_bytes &&
		facts->live_samples < PLH_SUSPECT_EXACT_SAMPLES;
}

/*
 * May it be memory that is used again and again?  Where much of what was allocated is gone, only
 * counts of the process tell whether what it keeps goes up and down.
 */
static bool
is_used_again(const PlhSuspectFacts *facts)
{
	bool		is_followed = is_exact(facts) && facts->live_samples == 1 ?
		facts->counts >= PLH_SUSPECT_BUFFER_COUNTS :
		facts->counts >= PLH_SUSPECT_COUNTS && facts->counted_early;

	return (double) facts->live_bytes <
		PLH_SUSPECT_USED_AGAIN_PART * (double) facts->total_bytes &&
		(!is_followed ||
		 (double) facts->fall_bytes >
		 PLH_SUSPECT_SITE_FALL_PART * (double) facts->live_bytes);
}

/*
 * Has the process worked for as long as the site grew, and added nothing?  Epochs don't tell:
 * without a sample, they stand still.
 */
static bool
has_stopped(const PlhSuspectFacts *facts)
{
	return facts->first_at != 0 &&
		(double) facts->active_to - (double) facts->last_at >=
		Max((double) USECS_PER_SEC, (double) facts->last_at - (double) facts->first_at);
}

/* Has nobody allocated anything there for long, and for that part of the time before? */
bool
plh_suspect_rests(const PlhSuspectFacts *facts, double part)
{
	double		grown_us = (double) facts->last_at - (double) facts->first_at;

	return facts->first_at != 0 &&
		(double) facts->counted_to - (double) facts->last_at >=
		Max((double) PLH_SUSPECT_REST_US, part * grown_us);
}

/* May it be one buffer, which is about to be replaced by a larger one for the last time? */
static bool
is_buffer(const PlhSuspectFacts *facts)
{
	return facts->live_samples < PLH_SUSPECT_EXACT_SAMPLES &&
		facts->live_bytes < PLH_SUSPECT_LARGE_BYTES &&
		(double) facts->live_bytes <
		PLH_SUSPECT_USED_AGAIN_PART * (double) facts->total_bytes;
}

static bool
is_leak(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return facts->is_session &&
		facts->live_bytes >= PLH_SUSPECT_FLOOR_BYTES &&
		(facts->statements == 1 ||
		 facts->live_bytes >= PLH_SUSPECT_LARGE_BYTES) &&
		facts->live_bytes > facts->limit_bytes &&
		facts->epochs >= PLH_SUSPECT_EPOCHS && is_known(facts) &&
		facts->early.live_samples > 0 &&
		(double) facts->early.live_bytes >=
		PLH_SUSPECT_EARLY_SIGMAS * deviation_of(facts, facts->early.live_samples) &&
		judgement->has_steadiness &&
		judgement->steadiness >= PLH_SUSPECT_STEADINESS &&
		has_gained(facts, judgement) && !has_stopped(facts) &&
		!is_used_again(facts) && !is_buffer(facts);
}

/* A few transactions, or a few large chunks, have left much in the session, or are about to. */
static bool
is_held(const PlhSuspectFacts *facts)
{
	return facts->is_session && is_known(facts) &&
		(!is_used_again(facts) || plh_suspect_rests(facts, PLH_SUSPECT_REST_PART)) &&
		facts->live_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		facts->live_bytes > facts->limit_bytes &&
		(facts->transactions < PLH_SUSPECT_HELD_TRANSACTIONS || is_exact(facts));
}

/*
 * Memory that one statement has held for long enough, and that was not judged a leak, is a cache.
 * Memory of which each of many statements allocated a part may be a leak that they all run into, or
 * a cache that they all fill: figures can't tell.
 */
static bool
is_growing(const PlhSuspectFacts *facts)
{
	return facts->is_session && facts->has_baseline &&
		facts->growth_bytes >= PLH_SUSPECT_GROWTH_BYTES && is_known(facts) &&
		(facts->statements > 1 || facts->epochs < PLH_SUSPECT_EPOCHS) &&
		facts->growth_bytes > 0 &&
		facts->growth_bytes > PLH_SUSPECT_GROWTH_ERRORS * error_of(facts);
}

/*
 * Is it about call sites that go on holding more?  Those of malloc have the verdict that the
 * process has as a whole where they are not known.
 */
bool
plh_suspect_leaks(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return judgement->verdict == PLH_VERDICT_LEAK ||
		(judgement->verdict == PLH_VERDICT_MALLOC && facts->is_malloc);
}

/*
 * Of a leak: how steadily it grows, and how well its size is known.  Of growth: which part of it is
 * beyond the error.  Of what a statement holds, or has left: which part of it is.
 */
static double
score_of(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	if (plh_suspect_leaks(facts, judgement))
		return Min(1.0, judgement->steadiness) *
			(1.0 - pow(error_of(facts) / (double) facts->live_bytes, 2.0));
	if (judgement->verdict != PLH_VERDICT_GROWING)
		return Max(0.0, 1.0 - error_of(facts) / (double) facts->live_bytes);
	return PLH_SUSPECT_GROWTH_SCORE * (1.0 - error_of(facts) / (double) facts->growth_bytes);
}

/*
 * What has not grown for this part of the time in which it grew, and for PLH_SUSPECT_REST_US, has
 * stopped, and has no rate.
 */
#define STOPPED_PART 0.25

/*
 * Has it been so long since a figure last grew, which began to at "since", that it no longer grows?
 */
bool
plh_suspect_has_stopped(TimestampTz since, TimestampTz grown_at, TimestampTz now)
{
	double		grown_us = Max(0.0, (double) grown_at - (double) since);

	return (double) now - (double) grown_at >=
		Max((double) PLH_SUSPECT_REST_US, STOPPED_PART * grown_us);
}

/* Growth by that many bytes in that time, which is not 0, as a rate. */
PlhRate
plh_suspect_rate(double bytes, double passed_us)
{
	return (PlhRate)
	{
		.is_known = true,
			.bytes_per_hour = whole_bytes(bytes * USECS_PER_HOUR / passed_us),
			.seen_us = whole_bytes(passed_us)
	};
}

/*
 * Growth by that many bytes since some time, if that is known, as a rate; none if it has stopped.
 */
static void
extrapolate(PlhJudgement *judgement, const PlhSuspectFacts *facts, int64 bytes,
			TimestampTz since)
{
	TimestampTz until = facts->last_at == 0 ? facts->counted_to :
		Min(facts->last_at, facts->counted_to);
	int64		passed_us = subtract(until, since);

	if (since == 0 || passed_us < PLH_SUSPECT_RATE_US || bytes <= 0 ||
		plh_suspect_has_stopped(since, until, facts->counted_to))
		return;
	judgement->rate = plh_suspect_rate(bytes, passed_us);
}

PlhJudgement
plh_suspect_judge(const PlhSuspectFacts *facts)
{
	PlhJudgement judgement = {.verdict = PLH_VERDICT_NONE};

	compare_with_early(&judgement, facts);
	if (is_leak(facts, &judgement))
		judgement.verdict = facts->is_malloc ? PLH_VERDICT_MALLOC : PLH_VERDICT_LEAK;
	else if (is_held(facts))
		judgement.verdict = PLH_VERDICT_HELD;
	else if (is_growing(facts))
		judgement.verdict = PLH_VERDICT_GROWING;
	else
		return judgement;

	judgement.bytes = facts->live_bytes;
	judgement.error_bytes = whole_bytes(error_of(facts));
	judgement.score = score_of(facts, &judgement);
	if (plh_suspect_leaks(facts, &judgement))
		extrapolate(&judgement, facts, judgement.late_bytes, facts->early.at);
	else if (judgement.verdict == PLH_VERDICT_GROWING)
		extrapolate(&judgement, facts, facts->growth_bytes, facts->baseline_at);
	return judgement;
}
