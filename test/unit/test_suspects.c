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

	facts = steady_leak();
	facts.early.live_samples = 5;
	ok(AT_THRESHOLD(facts, live_samples, 15, 16), "a leak has 16 samples");
	facts = steady_leak();
	ok(AT_THRESHOLD(facts, early.live_samples, 3, 4),
	   "4 of a leak's samples are early");
	ok(AT_THRESHOLD(facts, early.live_samples, 93, 92),
	   "8 of a leak's samples are late");

	/* half is freed: 3 * sqrt(0.5 * (100 + 72)) is 27.8 */
	facts = steady_leak();
	facts.total_bytes = 2 * facts.live_bytes;
	ok(AT_THRESHOLD(facts, early.live_samples, 73, 72),
	   "what comes and goes must grow by three standard deviations");
	facts = steady_leak();
	ok(AT_THRESHOLD(facts, live_bytes, 70 * MB - 1, 70 * MB),
	   "a leak goes on at 0.4 of the rate");
	facts = steady_leak();
	facts.is_malloc = true;
	ok(is_judged(facts, PLH_VERDICT_MALLOC), "one of malloc has its verdict");
	facts.epochs = 7;
	ok(is_judged(facts, PLH_VERDICT_NONE), "from the same thresholds on");

	facts = steady_leak();
	facts.early.epochs = 0;
	ok(is_judged(facts, PLH_VERDICT_NONE), "no early checkpoint, no leak");
	facts = steady_leak();
	facts.statements = 2;
	ok(is_judged(facts, PLH_VERDICT_LEAK), "several statements leak together");
	facts.live_bytes = 33554431;
	facts.early.live_bytes = 10 * MB;
	ok(AT_THRESHOLD(facts, live_bytes, 33554431, 33554432),
	   "if they hold 32 MB");
	facts = steady_leak();
	facts.limit_bytes = facts.live_bytes;
	ok(is_judged(facts, PLH_VERDICT_NONE), "what a setting allows is no leak");
	facts = steady_leak();
	facts.is_session = false;
	facts.is_over = true;
	ok(is_judged(facts, PLH_VERDICT_NONE), "nor is what is freed by itself");
}

/* Is it that with the higher value of a fact, and nothing with the lower? */
#define FROM_THRESHOLD(facts, field, none, some, verdict) \
	((facts).field = (none), is_judged(facts, PLH_VERDICT_NONE)) && \
	((facts).field = (some), is_judged(facts, verdict))

static void
test_query_thresholds(void)
{
	PlhSuspectFacts facts = large_query();
	PlhJudgement judgement = plh_suspect_judge(&facts);

	ok(judgement.verdict == PLH_VERDICT_QUERY && judgement.score > 0.7 &&
	   judgement.has_rate && judgement.late_bytes == 50 * MB,
	   "a statement that takes more and more is suspect");
	ok(FROM_THRESHOLD(facts, limit_bytes, 50 * MB, 50 * MB - 1, PLH_VERDICT_QUERY),
	   "beyond twice its limit");
	facts = large_query();
	facts.limit_bytes = MB;
	facts.early.live_bytes = 10 * MB;
	ok(FROM_THRESHOLD(facts, live_bytes, 33554431, 33554432, PLH_VERDICT_QUERY),
	   "from 32 MB on");
	facts = large_query();
	ok(FROM_THRESHOLD(facts, live_samples, 15, 16, PLH_VERDICT_NONE) &&
	   FROM_THRESHOLD(facts, early.live_samples, 16, 15, PLH_VERDICT_QUERY),
	   "with 16 samples, one of them late");
	facts = large_query();
	facts.live_samples = facts.early.live_samples = 1;
	facts.live_variance = 0.0;
	ok(is_judged(facts, PLH_VERDICT_QUERY),
	   "or one of a chunk whose size is known");
	facts = large_query();
	ok(FROM_THRESHOLD(facts, early.live_bytes, 91 * MB, 90 * MB, PLH_VERDICT_QUERY),
	   "if it goes on at a tenth of the rate before");
	facts = large_query();
	facts.early.epochs = 0;
	ok(is_judged(facts, PLH_VERDICT_NONE), "once its time has two halves");
	facts = large_query();
	facts.is_over = true;
	ok(is_judged(facts, PLH_VERDICT_NONE), "and while it runs");
}

static void
test_held_thresholds(void)
{
	PlhSuspectFacts facts = fresh_growth();

	facts.has_baseline = false;
	ok(is_judged(facts, PLH_VERDICT_NONE), "what is allocated by who still runs");
	facts.is_over = true;
	ok(is_judged(facts, PLH_VERDICT_HELD), "is held once that is over");
	ok(FROM_THRESHOLD(facts, live_bytes, 33554431, 33554432, PLH_VERDICT_HELD),
	   "from 32 MB on");
	ok(FROM_THRESHOLD(facts, transactions, 8, 7, PLH_VERDICT_HELD),
	   "by less than 8 transactions");
	ok(FROM_THRESHOLD(facts, live_samples, 15, 16, PLH_VERDICT_HELD),
	   "with 16 samples");
	ok(FROM_THRESHOLD(facts, limit_bytes, facts.live_bytes, 0, PLH_VERDICT_HELD),
	   "beyond what a setting allows");
	facts.live_samples = 1;
	ok(is_judged(facts, PLH_VERDICT_NONE), "a single sample says nothing");
	facts.live_variance = 0;
	ok(is_judged(facts, PLH_VERDICT_HELD), "but for one large chunk, whose size is known");
	facts = fresh_growth();
	facts.has_baseline = false;
	facts.is_over = true;
	facts.is_session = false;
	ok(is_judged(facts, PLH_VERDICT_NONE), "where nobody frees it by itself");
	ok(!plh_suspect_judge(&facts).has_rate, "there is no rate of it");
}

static void
test_growth_thresholds(void)
{
	PlhSuspectFacts facts = fresh_growth();
	int64		twice_error = 2 *
		plh_sampling_error_bytes(facts.live_variance, facts.live_bytes,
								 facts.live_samples);

	ok(is_judged(facts, PLH_VERDICT_GROWING), "growth since the baseline");
	facts.has_baseline = false;
	ok(is_judged(facts, PLH_VERDICT_NONE), "no baseline, no growth");

	facts = fresh_growth();
	facts.growth_bytes = twice_error;
	ok(is_judged(facts, PLH_VERDICT_NONE),
	   "growth of twice the error is none");
	facts.growth_bytes++;
	ok(is_judged(facts, PLH_VERDICT_GROWING), "growth of more is");
	facts.live_samples = 15;
	facts.live_variance = 0;
	ok(is_judged(facts, PLH_VERDICT_NONE), "growth of 15 samples is none");
	facts.live_samples = 16;
	ok(is_judged(facts, PLH_VERDICT_GROWING), "growth of 16 samples is");
	facts.growth_bytes = 0;
	ok(is_judged(facts, PLH_VERDICT_NONE),
	   "what is counted exactly, and the same as at the baseline, is none");

	facts = fresh_growth();
	facts.epochs = 8;
	ok(is_judged(facts, PLH_VERDICT_NONE),
	   "in 8 epochs it would have been a leak");
	facts.epochs = 7;
	ok(is_judged(facts, PLH_VERDICT_GROWING), "in 7 it can't be one yet");
	facts.epochs = 100;
	facts.transactions = 100;
	facts.statements = 2;
	ok(is_judged(facts, PLH_VERDICT_GROWING),
	   "several statements together grow in any number of epochs");
}

static void
test_scores(void)
{
	PlhSuspectFacts facts = steady_leak();
	PlhJudgement leak = plh_suspect_judge(&facts);
	PlhJudgement growth;

	ok(leak.has_steadiness && leak.steadiness == 1.0 && leak.score > 0.99,
	   "a steady leak with many samples scores nearly 1");
	facts.live_samples = 16;
	facts.early.live_samples = 8;
	ok(plh_suspect_judge(&facts).score < 0.6, "with few samples less");
	facts = steady_leak();
	facts.live_bytes = 1000 * MB;
	leak = plh_suspect_judge(&facts);
	ok(leak.steadiness > 1.0 && leak.score <= 1.0,
	   "one that becomes faster does not score more than 1");

	facts = fresh_growth();
	facts.live_samples = 1000000;
	facts.live_variance = 1.0;
	growth = plh_suspect_judge(&facts);
	ok(!growth.has_steadiness, "the steadiness of growth is not known");
	ok(growth.score > 0.49 && growth.score <= 0.5,
	   "nor is its score more than 0.5");
	facts.statements = 400;
	ok(plh_suspect_judge(&facts).score == growth.score,
	   "of many statements, either");
	facts = fresh_growth();
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

	ok(judgement.has_rate && judgement.bytes_per_hour == 50 * MB,
	   "the rate of a leak is that since the early checkpoint");
	facts.counted_to = facts.early.at + 99999;
	ok(!plh_suspect_judge(&facts).has_rate,
	   "a leak of less than 0.1 s has none");
	facts.counted_to++;
	ok(plh_suspect_judge(&facts).has_rate, "a leak of 0.1 s has one");
	facts.early.at = 0;
	ok(!plh_suspect_judge(&facts).has_rate,
	   "a leak from an unknown time on has none");
	facts.early.at = facts.counted_to + 1;
	ok(!plh_suspect_judge(&facts).has_rate,
	   "a leak from a later time on has none");

	facts = fresh_growth();
	judgement = plh_suspect_judge(&facts);
	ok(judgement.has_rate && judgement.bytes_per_hour == 100 * MB,
	   "the rate of growth is that since the baseline");
	facts.counted_to = facts.baseline_at + USECS_PER_MINUTE - 1;
	ok(!plh_suspect_judge(&facts).has_rate,
	   "growth of less than a minute has none");
	facts.counted_to++;
	ok(plh_suspect_judge(&facts).has_rate, "growth of a minute has one");
	facts.baseline_at = 0;
	ok(!plh_suspect_judge(&facts).has_rate,
	   "growth since an unknown time has none");
}

void
test_suspects(void)
{
	test_leak_thresholds();
	test_query_thresholds();
	test_held_thresholds();
	test_growth_thresholds();
	test_scores();
	test_rates();
}
