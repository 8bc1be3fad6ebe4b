/*
 * proven_suspect.c
 *	  What a proof makes of the verdict that figures suggest.
 */
#include "postgres.h"

#include <math.h>

#include "base/sampling.h"
#include "judge/proven_suspect.h"

/* The 95% bound of what is lost for good. */
static double
lost_error(const PlhProven *proven)
{
	double		bytes = (double) plh_proven_lost_for_good(proven);
	double		part = bytes / (double) Max(proven->lost_bytes, 1);

	return plh_sampling_error_bytes(part * proven->lost_variance, bytes,
									(int64) ceil(part * (double) proven->lost_samples));
}

bool
plh_proven_suspect_is_lost(const PlhSuspectFacts *facts)
{
	int64		bytes = plh_proven_lost_for_good(&facts->proven);

	return facts->is_session && bytes >= PLH_SUSPECT_FLOOR_BYTES &&
		lost_error(&facts->proven) <= PLH_SUSPECT_LOST_ERROR_PART * (double) bytes;
}

bool
plh_proven_suspect_is_reached(const PlhProven *proven, int64 bytes)
{
	return bytes < PLH_SUSPECT_REACHED_BYTES && proven->held_bytes > 0 &&
		(double) proven->held_bytes >= PLH_SUSPECT_REACHED_PART * (double) bytes;
}

bool
plh_proven_suspect_is_proven(const PlhProven *proven, int64 bytes)
{
	return PLH_SUSPECT_PROVEN_TIMES *
		((double) proven->lost_bytes + (double) proven->held_bytes) > (double) bytes;
}

static bool
is_reached(const PlhSuspectFacts *facts)
{
	return plh_proven_suspect_is_reached(&facts->proven, facts->live_bytes);
}

bool
plh_proven_suspect_is_begun(const PlhSuspectFacts *facts)
{
	return facts->is_session && facts->live_bytes >= PLH_SUSPECT_FLOOR_BYTES &&
		facts->live_bytes > facts->limit_bytes && facts->epochs >= PLH_SUSPECT_BEGUN_EPOCHS &&
		plh_sampling_error_bytes(facts->live_variance, facts->live_bytes, facts->live_samples) <=
		PLH_SUSPECT_LOST_ERROR_PART * (double) facts->live_bytes &&
		!plh_suspect_rests(facts, PLH_SUSPECT_REST_PART) &&
		!plh_proven_suspect_is_proven(&facts->proven, facts->live_bytes);
}

/* The verdict is on what is lost, and says nothing of the rest, nor of how that grows. */
static void
accuse_lost(PlhJudgement *judgement, const PlhSuspectFacts *facts)
{
	double		error = lost_error(&facts->proven);

	judgement->verdict = facts->is_malloc ? PLH_VERDICT_MALLOC : PLH_VERDICT_LEAK;
	judgement->basis = PLH_BY_LOSS;
	judgement->bytes = plh_proven_lost_for_good(&facts->proven);
	judgement->error_bytes = (int64) error;
	judgement->score = Max(0.0, 1.0 - pow(error / (double) judgement->bytes, 2.0));
	judgement->rate = (PlhRate)
	{
		0
	};
}

/*
 * May it be a cache that fills, or a queue?  What a few transactions have left may be the first
 * part of one, until it has rested for as long as it took.
 */
static bool
may_have_end(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return is_reached(facts) &&
		(plh_suspect_leaks(facts, judgement) ||
		 (judgement->verdict == PLH_VERDICT_HELD &&
		  !plh_suspect_rests(facts, PLH_SUSPECT_REACHED_REST_PART)));
}

static void
doubt_reached(PlhJudgement *judgement)
{
	judgement->verdict = PLH_VERDICT_GROWING;
	judgement->basis = PLH_BY_REACH;
	judgement->score *= PLH_SUSPECT_GROWTH_SCORE;
}

PlhJudgement
plh_proven_suspect_judge(const PlhSuspectFacts *facts)
{
	PlhJudgement judgement = plh_suspect_judge(facts);
	bool		leaks = plh_suspect_leaks(facts, &judgement);

	if (plh_proven_suspect_is_lost(facts) && (!leaks || is_reached(facts)))
		accuse_lost(&judgement, facts);
	else if (may_have_end(facts, &judgement))
		doubt_reached(&judgement);
	return judgement;
}
