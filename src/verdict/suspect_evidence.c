/*
 * suspect_evidence.c
 *	  Why a site is a suspect, as a sentence.
 */
#include "postgres.h"

#include "report/size_text.h"
#include "verdict/suspect_evidence.h"

static char *
evidence_of_leak(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("In " INT64_FORMAT " of " INT64_FORMAT
					" transactions (or seconds of long ones) it kept %s (+/- %s) of %s that it allocated,"
					" %s of it in the last " INT64_FORMAT
					", at %.0f%% of the rate before.",
					facts->epochs, facts->age_epochs,
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->error_bytes),
					plh_size_text(facts->total_bytes),
					plh_size_text(judgement->late_bytes),
					judgement->late_epochs, 100.0 * judgement->steadiness);
}

/* Why growth is not called a leak. */
static const char *
doubt_about_growth(const PlhSuspectFacts *facts)
{
	if (facts->statements > 1)
		return psprintf("each of %d statements has too few",
						facts->statements);
	return "too little has happened since its first allocation";
}

static char *
evidence_of_growth(const PlhSuspectFacts *facts, const PlhJudgement *judgement)
{
	return psprintf("It holds %s (+/- %s), %s more than at the baseline, from "
					INT64_FORMAT " samples; %s to tell a leak from a cache.",
					plh_size_text(facts->live_bytes),
					plh_size_text(judgement->error_bytes),
					plh_size_text(facts->growth_bytes),
					facts->live_samples, doubt_about_growth(facts));
}

/*
 * The evidence of a verdict, in the current memory context; NULL without a
 * verdict.
 */
char *
plh_suspect_evidence(const PlhSuspectFacts *facts,
					 const PlhJudgement *judgement)
{
	switch (judgement->verdict)
	{
		case PLH_VERDICT_LEAK:
			return evidence_of_leak(facts, judgement);
		case PLH_VERDICT_GROWING:
			return evidence_of_growth(facts, judgement);
		case PLH_VERDICT_NONE:
			break;
	}
	return NULL;
}
