/*
 * suspect_facts.c
 *	  What may be known of a site, for tests of verdicts, and what it comes to.
 */
#include "postgres.h"

#include "suspect_facts.h"

PlhSuspectFacts
steady_leak(void)
{
	PlhSuspectFacts facts = {0};

	facts.live_bytes = facts.total_bytes = 100 * MB;
	facts.live_samples = 100;
	facts.live_variance = 100.0 * MB * MB;
	facts.epochs = 100;
	facts.age_epochs = 200;
	facts.early.epochs = 100;
	facts.early.live_samples = 50;
	facts.early.live_bytes = 50 * MB;
	facts.early.at = SOME_TIME;
	facts.counted_to = SOME_TIME + USECS_PER_HOUR;
	facts.sites = facts.statements = 1;
	facts.is_session = true;
	facts.counts = 100;
	facts.counted_early = true;
	facts.transactions = 100;
	return facts;
}

PlhSuspectFacts
fresh_growth(void)
{
	PlhSuspectFacts facts = {0};

	facts.live_bytes = facts.total_bytes = facts.growth_bytes = 100 * MB;
	facts.live_samples = 100;
	facts.live_variance = 100.0 * MB * MB;
	facts.has_baseline = true;
	facts.baseline_at = SOME_TIME;
	facts.epochs = facts.age_epochs = 3;
	facts.counted_to = SOME_TIME + USECS_PER_HOUR;
	facts.sites = facts.statements = 1;
	facts.is_session = true;
	facts.counts = 100;
	facts.counted_early = true;
	facts.transactions = 3;
	return facts;
}

bool
is_judged(PlhSuspectFacts facts, PlhVerdict verdict)
{
	return plh_suspect_judge(&facts).verdict == verdict;
}

/* libpgcommon, which has palloc for programs, has no such function. */
void *
repalloc_huge(void *pointer, Size size)
{
	return repalloc(pointer, size);
}
