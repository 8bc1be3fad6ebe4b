/*
 * test_suspects.c
 *	  The verdict on a site: each threshold, its score, its rate.
 */
#include "postgres.h"

#include <math.h>

#include "base/sampling.h"
#include "suspect_facts.h"
#include "unit_tests.h"

/* Is it a leak with the higher value of a fact, and nothing with the lower? */
#define AT_THRESHOLD(facts, field, none, leak) \
	((facts).field = (none), is_judged(facts, PLH_VERDICT_NONE)) && \
	((facts).field = (leak), is_judged(facts, PLH_VERDICT_LEAK))

static void
test_leak_thresholds(void)
{
	PlhSuspectFacts facts = steady_leak();

	ok(is_judged(facts, PLH_VERDICT_LEAK), "what grows steadily is a leak");
	ok(AT_THRESHOLD(facts, epochs, 7, 8), "a leak has samples in 8 epochs");

	/* an error of 0.5 of 100 MB */
	facts = steady_leak();
	facts.early.live_bytes = 40 * MB;
	facts.early.live_samples = 40;
	ok(AT_THRESHOLD(facts, live_variance, 700.0 * MB * MB, 400.0 * MB * MB),
	   "a leak is known to half of its size");
	facts = steady_leak();
	facts.live_bytes = facts.total_bytes = 131071;
	facts.live_variance = 0.0;
	facts.early.live_bytes = 50000;
	ok(AT_THRESHOLD(facts, live_bytes, 131071, 131072), "a leak has 128 kB");
	facts = steady_leak();
	facts.early.live_samples = 4;
	ok(AT_THRESHOLD(facts, early.live_bytes, 4 * MB - 1, 4 * MB),
	   "what a leak held early is twice its standard deviation");
	facts = steady_leak();
	facts.early.live_samples = 92;
	facts.early.live_bytes = 20 * MB;
	facts.live_bytes = facts.total_bytes = 24 * MB;
	facts.live_variance = 25.0 * MB * MB;
	facts.age_epochs = 120;
	ok(AT_THRESHOLD(facts, live_bytes, 20 * MB + 3900000, 20 * MB + 4 * MB),
	   "what a leak has gained is 2.8 times its standard deviation");

	/* half is freed: 3 * sqrt(0.5 * (50 + 100)) is 26 */
	facts = steady_leak();
	facts.live_bytes = 60 * MB;
	facts.total_bytes = 2 * facts.live_bytes;
	ok(AT_THRESHOLD(facts, early.live_bytes, 34 * MB + 100000, 34 * MB - 100000),
	   "what comes and goes must grow by three standard deviations");

	/* one buffer that is enlarged, of which all is known */
	facts = steady_leak();
	facts.total_bytes = 2 * facts.live_bytes;
	facts.live_samples = facts.early.live_samples = 1;
	facts.live_variance = 0.0;
	ok(is_judged(facts, PLH_VERDICT_LEAK), "a buffer that becomes larger and larger is a leak");
	ok(AT_THRESHOLD(facts, fall_bytes, 50 * MB + 1, 50 * MB),
	   "a buffer of a process that also gave back half as much is none");
	ok(AT_THRESHOLD(facts, counts, 2, 3),
	   "a buffer is a leak once its process was counted three times");
	facts.live_bytes = 33 * MB;
	facts.early.live_bytes = 16 * MB;
	facts.total_bytes = 70 * MB;
	facts.fall_bytes = 0;
	ok(AT_THRESHOLD(facts, live_bytes, 33554431, 33554432), "a buffer below 32 MB may be as large as it gets");

	/* a queue, which has 100 MB now */
	facts = steady_leak();
	facts.total_bytes = 1000 * MB;
	facts.live_samples = 1600;
	facts.early.live_samples = 800;
	facts.live_variance = 1600.0 * MB * MB / 256;
	ok(AT_THRESHOLD(facts, counts, 15, 16),
	   "what comes and goes is judged once its process was counted 16 times");
	facts.counted_early = false;
	ok(!is_judged(facts, PLH_VERDICT_LEAK), "what comes and goes must have been counted early, too");
	facts.counted_early = true;
	ok(AT_THRESHOLD(facts, fall_bytes, 50 * MB + 1, 50 * MB),
	   "what falls by more than half of what it is, is used again");

	/* it has not grown for as long as it did */
	facts = steady_leak();
	facts.first_at = SOME_TIME;
	facts.last_at = SOME_TIME + 10 * USECS_PER_SEC;
	ok(AT_THRESHOLD(facts, active_to, SOME_TIME + 20 * USECS_PER_SEC,
					SOME_TIME + 20 * USECS_PER_SEC - 1),
	   "a leak has stopped when its process has worked on for as long without it");
	facts = steady_leak();
	facts.total_bytes = 70 * MB;
	ok(AT_THRESHOLD(facts, live_bytes, 70 * MB - 1, 70 * MB),
	   "a leak keeps growing at 0.4 of its rate at least");
	facts = steady_leak();
	facts.is_malloc = true;
	ok(is_judged(facts, PLH_VERDICT_MALLOC), "a leak of malloc has its own verdict");
	facts.epochs = 7;
	ok(is_judged(facts, PLH_VERDICT_NONE), "a leak of malloc has the same thresholds");

	facts = steady_leak();
	facts.early.epochs = 0;
	ok(is_judged(facts, PLH_VERDICT_NONE), "a site without an early checkpoint is no leak");
	facts = steady_leak();
	facts.sites = facts.statements = 2;
	ok(is_judged(facts, PLH_VERDICT_LEAK), "several statements leak together");
	facts.live_bytes = facts.total_bytes = 33554431;
	facts.live_variance = 25.0 * MB * MB;
	facts.early.live_bytes = 10 * MB;
	ok(AT_THRESHOLD(facts, live_bytes, 33554431, 33554432),
	   "several statements leak together if they hold 32 MB");
	facts = steady_leak();
	facts.limit_bytes = facts.live_bytes;
	ok(is_judged(facts, PLH_VERDICT_NONE), "what a setting allows is no leak");
	facts = steady_leak();
	facts.is_session = false;
	facts.is_over = true;
	ok(is_judged(facts, PLH_VERDICT_NONE), "what is freed by itself is no leak");
}

/* Is it that with the higher value of a fact, and nothing with the lower? */
#define FROM_THRESHOLD(facts, field, none, some, verdict) \
	((facts).field = (none), is_judged(facts, PLH_VERDICT_NONE)) && \
	((facts).field = (some), is_judged(facts, verdict))

static void
test_held_thresholds(void)
{
	PlhSuspectFacts facts = fresh_growth();

	facts.has_baseline = false;
	ok(is_judged(facts, PLH_VERDICT_HELD), "what a running transaction leaves in the session is held");
	facts.is_over = true;
	ok(is_judged(facts, PLH_VERDICT_HELD), "what a transaction has left is held when it is over");
	facts.live_variance = 25.0 * MB * MB;
	ok(FROM_THRESHOLD(facts, live_bytes, 33554431, 33554432, PLH_VERDICT_HELD),
	   "memory is held from 32 MB on");
	facts.live_bytes = 100 * MB;
	ok(FROM_THRESHOLD(facts, transactions, 8, 7, PLH_VERDICT_HELD),
	   "memory is held by less than 8 transactions");
	ok(FROM_THRESHOLD(facts, live_variance, 700.0 * MB * MB, 400.0 * MB * MB, PLH_VERDICT_HELD),
	   "memory is held if it is known to half of its size");
	facts.live_variance = 100.0 * MB * MB;
	ok(FROM_THRESHOLD(facts, limit_bytes, facts.live_bytes, 0, PLH_VERDICT_HELD),
	   "memory is held beyond what a setting allows");
	facts.live_samples = 1;
	facts.live_variance = (double) facts.live_bytes * facts.live_bytes;
	ok(is_judged(facts, PLH_VERDICT_NONE), "a single sample is not held");
	facts.live_variance = 0;
	facts.transactions = 100;
	ok(is_judged(facts, PLH_VERDICT_HELD),
	   "a single large chunk whose size is known is held, however many transactions enlarged it");
	facts = fresh_growth();
	facts.has_baseline = false;
	facts.is_over = true;
	facts.is_session = false;
	ok(is_judged(facts, PLH_VERDICT_NONE), "what is freed by itself is not held");
	ok(!plh_suspect_judge(&facts).rate.is_known, "what is not held has no rate");
}

/* Growth that is too little to be held. */
static PlhSuspectFacts
young_growth(void)
{
	PlhSuspectFacts facts = fresh_growth();

	facts.live_bytes = facts.total_bytes = facts.growth_bytes = 20 * MB;
	facts.live_variance = 4.0 * MB * MB;
	return facts;
}

static void
test_growth_thresholds(void)
{
	PlhSuspectFacts facts = young_growth();
	int64		twice_error = 2 *
		plh_sampling_error_bytes(facts.live_variance, facts.live_bytes,
								 facts.live_samples);

	ok(is_judged(facts, PLH_VERDICT_GROWING), "a site that has grown since the baseline is growing");
	facts.has_baseline = false;
	ok(is_judged(facts, PLH_VERDICT_NONE), "a site without a baseline is not growing");

	facts = young_growth();
	facts.growth_bytes = twice_error;
	ok(is_judged(facts, PLH_VERDICT_NONE),
	   "growth of twice the error is not growing");
	facts.growth_bytes++;
	ok(is_judged(facts, PLH_VERDICT_GROWING), "growth of more than twice the error is growing");
	facts.live_variance = 0;
	facts.growth_bytes = 0;
	ok(is_judged(facts, PLH_VERDICT_NONE),
	   "what is counted exactly, and as at the baseline, is not growing");

	facts = young_growth();
	facts.epochs = 8;
	ok(is_judged(facts, PLH_VERDICT_NONE),
	   "a site that could have been a leak in 8 epochs is not growing");
	facts.epochs = 7;
	ok(is_judged(facts, PLH_VERDICT_GROWING), "a site that cannot be a leak yet, in 7 epochs, is growing");
	facts.epochs = 100;
	facts.transactions = 100;
	facts.sites = facts.statements = 2;
	ok(is_judged(facts, PLH_VERDICT_GROWING),
	   "several statements together grow in any number of epochs");
}

static void
test_scores(void)
{
	PlhSuspectFacts facts = steady_leak();
	PlhJudgement leak = plh_suspect_judge(&facts);
	PlhJudgement growth;

	ok(leak.has_steadiness && leak.steadiness == 1.0 && leak.score > 0.95,
	   "a steady leak with many samples scores nearly 1");
	facts.live_variance = 600.0 * MB * MB;
	ok(plh_suspect_judge(&facts).score < 0.8, "a steady leak with few samples scores less");
	facts = steady_leak();
	facts.live_bytes = 1000 * MB;
	leak = plh_suspect_judge(&facts);
	ok(leak.steadiness > 1.0 && leak.score <= 1.0,
	   "a leak that becomes faster does not score more than 1");

	facts = young_growth();
	facts.live_samples = 1000000;
	facts.live_variance = 1.0;
	growth = plh_suspect_judge(&facts);
	ok(!growth.has_steadiness, "the steadiness of growth is not known");
	ok(growth.score > 0.49 && growth.score <= 0.5,
	   "growth does not score more than 0.5");
	facts.sites = facts.statements = 400;
	ok(plh_suspect_judge(&facts).score == growth.score,
	   "growth of many statements does not score more than 0.5");
	facts = young_growth();
	growth = plh_suspect_judge(&facts);
	facts.growth_bytes /= 2;
	ok(plh_suspect_judge(&facts).score < growth.score,
	   "the nearer growth is to its error, the less it scores");
}

static void
test_rates(void)
{
	PlhSuspectFacts facts = steady_leak();
	PlhJudgement judgement = plh_suspect_judge(&facts);

	ok(judgement.rate.is_known && judgement.rate.bytes_per_hour == 50 * MB &&
	   judgement.rate.seen_us == facts.counted_to - facts.early.at,
	   "the rate of a leak is that since the early checkpoint");
	facts.counted_to = facts.early.at + USECS_PER_MINUTE - 1;
	ok(!plh_suspect_judge(&facts).rate.is_known,
	   "a leak of less than a minute has no rate");
	facts.counted_to++;
	ok(plh_suspect_judge(&facts).rate.is_known, "a leak of a minute has a rate");
	facts = steady_leak();
	facts.first_at = SOME_TIME - 100 * USECS_PER_SEC;
	facts.last_at = SOME_TIME + 100 * USECS_PER_SEC;
	facts.counted_to = facts.active_to = facts.last_at + 24 * USECS_PER_SEC;
	judgement = plh_suspect_judge(&facts);
	ok(judgement.rate.is_known && judgement.rate.bytes_per_hour == 1800 * MB,
	   "the rate of a leak is that up to its last sample");
	facts.counted_to += USECS_PER_SEC;
	judgement = plh_suspect_judge(&facts);
	ok(judgement.verdict == PLH_VERDICT_LEAK && !judgement.rate.is_known,
	   "a leak that has not grown for a quarter of its time has no rate");
	facts.last_at = SOME_TIME + USECS_PER_MINUTE;
	facts.counted_to = facts.active_to = facts.last_at + 5 * USECS_PER_SEC - 1;
	ok(plh_suspect_judge(&facts).rate.is_known, "a leak that rests for less than 5 s has a rate");
	facts.early.at = 0;
	ok(!plh_suspect_judge(&facts).rate.is_known,
	   "a leak from an unknown time on has no rate");
	facts.early.at = facts.counted_to + 1;
	ok(!plh_suspect_judge(&facts).rate.is_known,
	   "a leak from a later time on has no rate");

	facts = young_growth();
	judgement = plh_suspect_judge(&facts);
	ok(judgement.rate.is_known && judgement.rate.bytes_per_hour == 20 * MB &&
	   judgement.rate.seen_us == facts.counted_to - facts.baseline_at,
	   "the rate of growth is that since the baseline");
	facts.counted_to = facts.baseline_at + USECS_PER_MINUTE - 1;
	ok(!plh_suspect_judge(&facts).rate.is_known,
	   "growth of less than a minute has no rate");
	facts.counted_to++;
	ok(plh_suspect_judge(&facts).rate.is_known, "growth of a minute has a rate");
	facts.last_at = facts.counted_to;
	facts.counted_to += 15 * USECS_PER_SEC;
	ok(!plh_suspect_judge(&facts).rate.is_known, "growth that has stopped has no rate");
	facts.baseline_at = 0;
	ok(!plh_suspect_judge(&facts).rate.is_known,
	   "growth since an unknown time has no rate");
}

void
test_suspects(void)
{
	test_leak_thresholds();
	test_held_thresholds();
	test_growth_thresholds();
	test_scores();
	test_rates();
}
