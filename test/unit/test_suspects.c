/*
 * test_suspects.c
 *	  The verdict on a site: each threshold, what is not known, odd figures.
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "unit_tests.h"
#include "report/size_text.h"
#include "verdict/suspect.h"
#include "verdict/suspect_evidence.h"

#define MB INT64CONST(1000000)
#define SOME_TIME (INT64CONST(1000) * USECS_PER_DAY)

/* The server's own words for sizes need the server. */
char *
plh_size_text(int64 bytes)
{
	return psprintf(INT64_FORMAT " B", bytes);
}

/*
 * A megabyte and a sample in each other epoch, none of it freed: half of it in
 * the first half of its life.
 */
static PlhSuspectFacts
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
	facts.statements = 1;
	facts.is_session = true;
	facts.transactions = 100;
	return facts;
}

/* All of it since the baseline, in a few epochs, an hour ago. */
static PlhSuspectFacts
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
	facts.statements = 1;
	facts.is_session = true;
	facts.transactions = 3;
	return facts;
}

/* What a query has taken in two seconds, twice of what it may. */
static PlhSuspectFacts
large_query(void)
{
	PlhSuspectFacts facts = {0};

	facts.live_bytes = facts.total_bytes = 100 * MB;
	facts.limit_bytes = 20 * MB;
	facts.live_samples = 100;
	facts.live_variance = 100.0 * MB * MB;
	facts.epochs = facts.age_epochs = 3;
	facts.early.epochs = 2;
	facts.early.live_samples = 50;
	facts.early.live_bytes = 50 * MB;
	facts.early.at = SOME_TIME;
	facts.counted_to = SOME_TIME + USECS_PER_SEC;
	facts.statements = 1;
	facts.transactions = 1;
	return facts;
}

static bool
is_judged(PlhSuspectFacts facts, PlhVerdict verdict)
{
	return plh_suspect_judge(&facts).verdict == verdict;
}

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

static int64
age_of(uint32 first_epoch, uint32 last_epoch, uint32 now)
{
	PlhSiteRecord site = {{0}};
	PlhProfileHeader header = {{0}};

	site.first_epoch = first_epoch;
	site.last_epoch = last_epoch;
	header.epoch = now;
	return plh_suspect_age(&header, &site);
}

/* Epochs of the early checkpoint of a site of that age; 0 for none. */
static uint32
early_epochs_at(int64 age)
{
	PlhSiteRecord site = {{0}};
	const PlhCheckpoint *early;

	site.checkpoints[1].epochs = 4;
	site.checkpoints[2].epochs = 8;
	early = plh_suspect_early_checkpoint(&site, age);
	return early != NULL ? early->epochs : 0;
}

static void
test_epochs(void)
{
	ok(age_of(10, 10, 10) == 1, "the first epoch counts");
	ok(age_of(10, 15, 19) == 10, "and the current one");
	ok(age_of(10, 10, 9) == 1, "a header may be older than the site");
	ok(age_of(10, 15, 9) == 6 && age_of(10, 15, 12) == 6,
	   "and than the site's last sample");
	ok(age_of(PG_UINT32_MAX - 5, PG_UINT32_MAX - 5, 4) == 11,
	   "epochs may wrap around");
	ok(age_of(0, 0, 3000000000U) == INT64CONST(3000000001),
	   "a life may have more epochs than a signed integer");
	ok(early_epochs_at(7) == 0 && early_epochs_at(8) == 4,
	   "the early checkpoint is in the first half of a life");
	ok(early_epochs_at(15) == 4 && early_epochs_at(16) == 8,
	   "and the youngest there");
}

/* Sums of sites, whose errors are not those of the sites added up. */
static void
test_pooling(void)
{
	PlhSuspectFacts one = fresh_growth();
	PlhSuspectFacts sum = {0};
	PlhJudgement judgement;

	for (int i = 0; i < 4; i++)
		plh_suspect_pool(&sum, &one);
	judgement = plh_suspect_judge(&sum);
	ok(sum.statements == 4 && sum.live_bytes == 400 * MB &&
	   sum.growth_bytes == 400 * MB && sum.live_samples == 400,
	   "figures of sites are added up");
	ok(sum.epochs == 12 && sum.age_epochs == 3, "and their epochs, not ages");
	ok(judgement.error_bytes ==
	   (int64) plh_sampling_error_bytes(400.0 * MB * MB, 400.0 * MB, 400),
	   "their error is that of the sum");

	one.live_bytes = one.live_samples = 0;
	one.growth_bytes = -350 * MB;
	plh_suspect_pool(&sum, &one);
	ok(sum.statements == 4 && sum.growth_bytes == 50 * MB &&
	   is_judged(sum, PLH_VERDICT_NONE),
	   "what one statement has freed is no growth of another");
	one.growth_bytes = PG_INT64_MAX;
	plh_suspect_pool(&sum, &one);
	plh_suspect_pool(&sum, &one);
	ok(sum.growth_bytes == PG_INT64_MAX, "sums do not wrap around");
}

/* What a sum held in the middle of its life, by what its sites did. */
static void
test_pooled_course(void)
{
	PlhSuspectFacts facts = {.age_epochs = 100,.live_bytes = 100 * MB,.live_samples = 100};
	PlhSuspectFacts sum = {.age_epochs = 100};
	PlhSiteRecord site = {{0}};

	/* all of it in the first ten epochs */
	site.first_epoch = 1;
	site.last_epoch = 10;
	site.counters.last_at = SOME_TIME;
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.epochs == 50 && sum.early.live_bytes == 100 * MB &&
	   sum.early.live_samples == 100 && sum.early.at == SOME_TIME,
	   "what is older than the middle was there then");

	/* up to now, half of it by epoch 25 */
	site.last_epoch = 100;
	site.checkpoints[2].epochs = 25;
	site.checkpoints[2].live_bytes = 50 * MB;
	site.checkpoints[2].live_samples = 50;
	memset(&sum.early, 0, sizeof(sum.early));
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.live_bytes > 66 * MB && sum.early.live_bytes < 67 * MB &&
	   sum.early.live_samples == 66,
	   "of what goes on, the part that lies between two checkpoints");

	/* the youngest checkpoint is behind the middle */
	site.checkpoints[1] = site.checkpoints[2];
	site.checkpoints[2].epochs = 75;
	site.checkpoints[2].live_bytes = 90 * MB;
	memset(&sum.early, 0, sizeof(sum.early));
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.live_bytes == 70 * MB, "of the checkpoints those around the middle");

	facts.age_epochs = 50;
	memset(&sum.early, 0, sizeof(sum.early));
	plh_suspect_pool_early(&sum, &site, &facts);
	ok(sum.early.epochs == 0 && sum.early.live_bytes == 0,
	   "what began later was not there");
}

/* Any bits, as often as not with an extreme value in their place. */
static int64
odd_integer(pg_prng_state *prng)
{
	static const int64 extremes[] = {0, 1, -1, 16, 100, PG_INT64_MAX,
	PG_INT64_MIN, PG_UINT32_MAX, PG_INT32_MIN};

	if (pg_prng_bool(prng))
		return extremes[pg_prng_uint64_range(prng, 0, lengthof(extremes) - 1)];
	return (int64) (pg_prng_uint64(prng) >> pg_prng_uint64_range(prng, 0, 63));
}

static double
odd_number(pg_prng_state *prng)
{
	union
	{
		uint64		bits;
		double		number;
	}			any;

	any.bits = pg_prng_uint64(prng);
	return pg_prng_bool(prng) ? (double) odd_integer(prng) : any.number;
}

/* A site of a profile that anything may have happened to. */
static PlhSuspectFacts
odd_facts(pg_prng_state *prng)
{
	PlhSiteRecord site = {{0}};
	PlhProfileHeader header = {{0}};
	PlhSuspectFacts facts;

	header.epoch = odd_integer(prng);
	site.first_epoch = odd_integer(prng);
	site.last_epoch = odd_integer(prng);
	site.epochs = odd_integer(prng);
	site.transactions = odd_integer(prng);
	site.key.lifetime = odd_integer(prng) % 2;
	header.epoch_over = odd_integer(prng);
	site.counters.live_bytes = odd_integer(prng);
	site.counters.total_bytes = odd_integer(prng);
	site.counters.live_samples = odd_integer(prng);
	site.counters.live_variance = odd_number(prng);
	for (int i = 0; i < PLH_CHECKPOINTS; i++)
	{
		site.checkpoints[i].epochs = odd_integer(prng);
		site.checkpoints[i].live_samples = odd_integer(prng);
		site.checkpoints[i].live_bytes = odd_integer(prng);
		site.checkpoints[i].at = odd_integer(prng);
	}
	plh_suspect_collect(&facts, &header, &site);
	facts.counted_to = odd_integer(prng);
	facts.limit_bytes = odd_integer(prng);
	if (pg_prng_bool(prng))
		plh_suspect_pool_early(&facts, &site, &facts);
	if (pg_prng_bool(prng))
		plh_suspect_subtract_baseline(&facts, odd_integer(prng));
	facts.baseline_at = odd_integer(prng);
	return facts;
}

/*
 * Sites of damaged profiles, by themselves and added up.  The sanitizers see
 * what is undefined.
 */
static void
test_odd_figures(void)
{
	enum
	{
		TRIALS = 300000
	};
	pg_prng_state prng;
	int			found[PLH_VERDICT_LEAK + 1] = {0};
	int			wrong_scores = 0;
	int			wrong_rates = 0;
	int			wrong_errors = 0;
	int			wrong_ages = 0;
	PlhSuspectFacts sum = {0};

	pg_prng_seed(&prng, 42);
	for (int i = 0; i < TRIALS; i++)
	{
		PlhSuspectFacts facts = odd_facts(&prng);
		PlhJudgement judgement;

		wrong_ages += facts.age_epochs < 1;
		plh_suspect_pool(&sum, &facts);
		judgement = plh_suspect_judge(i % 5 == 0 ? &sum : &facts);
		if (i % 5 == 0)
			memset(&sum, 0, sizeof(sum));
		found[judgement.verdict]++;
		wrong_scores += !(judgement.score >= 0.0 && judgement.score <= 1.0);
		wrong_rates += judgement.has_rate ? judgement.bytes_per_hour < 0 :
			judgement.bytes_per_hour != 0;
		wrong_rates += !isfinite(judgement.steadiness) ||
			judgement.steadiness < 0;
		wrong_errors += judgement.error_bytes < 0;
	}
	printf("# odd figures: %d leaks, %d growing\n",
		   found[PLH_VERDICT_LEAK], found[PLH_VERDICT_GROWING]);
	ok(found[PLH_VERDICT_LEAK] > 0 && found[PLH_VERDICT_GROWING] > 0 &&
	   found[PLH_VERDICT_HELD] > 0 && found[PLH_VERDICT_QUERY] > 0,
	   "odd figures come to all verdicts");
	ok(wrong_scores == 0, "scores are between 0 and 1");
	ok(wrong_rates == 0, "rates are finite, and never negative");
	ok(wrong_errors == 0, "errors are never negative");
	ok(wrong_ages == 0, "ages are at least 1");
}

static void
test_evidence(void)
{
	PlhSuspectFacts facts = steady_leak();
	PlhJudgement judgement = plh_suspect_judge(&facts);
	PlhProfileHeader header = {{0}};
	PlhProfileImage image = {.header = &header,.alive = true};
	char	   *expected;
	char	   *evidence = plh_suspect_evidence(&facts, &judgement, &image);
	int			wrong_verdicts = 0;

	expected = psprintf("Of 100000000 B allocated there it keeps 100000000 B (+/- " INT64_FORMAT " B), and goes on: 500000 B per transaction in the last 100, 500000 B in the 100 before (of a long transaction, each second counts as one).",
						judgement.error_bytes);
	ok(strcmp(evidence, expected) == 0, "evidence of a leak");

	facts = fresh_growth();
	judgement = plh_suspect_judge(&facts);
	evidence = plh_suspect_evidence(&facts, &judgement, &image);
	expected = psprintf("It holds 100000000 B (+/- " INT64_FORMAT " B), 100000000 B more than at the baseline, from 100 samples; too little has happened since its first allocation to tell a leak from a cache.",
						judgement.error_bytes);
	ok(strcmp(evidence, expected) == 0, "evidence of growth");
	facts.statements = 400;
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  "; each of 400 statements has too few to tell") != NULL,
	   "evidence of growth in many statements");
	facts = large_query();
	judgement = plh_suspect_judge(&facts);
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  "50000000 B of it since the middle of its time; its settings allow 20000000 B") != NULL,
	   "evidence of a query");
	image.alive = false;
	evidence = plh_suspect_evidence(&facts, &judgement, &image);
	ok(strstr(evidence, "that ran held ") != NULL &&
	   strstr(evidence, "allowed 20000000 B to each node of its plan.") != NULL &&
	   strstr(evidence, "ends") == NULL,
	   "evidence of a query whose process is gone");
	for (int verdict = PLH_VERDICT_NONE + 1; verdict < PLH_VERDICTS; verdict++)
	{
		judgement.verdict = verdict;
		if (plh_suspect_evidence_next(&facts, &judgement, &image) == NULL)
			wrong_verdicts++;
	}
	ok(wrong_verdicts == 0, "something to do about each verdict");
	judgement.verdict = PLH_VERDICT_NONE;
	ok(plh_suspect_evidence_next(&facts, &judgement, &image) == NULL,
	   "nothing to do without a verdict");
	ok(plh_suspect_evidence(&facts, &judgement, &image) == NULL,
	   "no verdict, no evidence");
}

static void
test_evidence_of_malloc(void)
{
	PlhSuspectFacts leak = steady_leak();
	PlhSuspectFacts facts = {.live_bytes = 90 * MB,.growth_bytes = 80 * MB};
	PlhJudgement judgement = plh_suspect_judge(&leak);
	PlhProfileHeader header = {
		.malloc_sampled_bytes = 5 * MB,
		.malloc_sampled_error = MB,
		.malloc_other_bytes = 99 * MB
	};
	PlhProfileImage image = {.header = &header,.alive = true};
	const char *as_leak = plh_suspect_evidence(&leak, &judgement, &image);
	const char *next_of_leak = plh_suspect_evidence_next(&leak, &judgement, &image);

	leak.is_malloc = true;
	judgement = plh_suspect_judge(&leak);
	ok(strcmp(plh_suspect_evidence(&leak, &judgement, &image), as_leak) == 0 &&
	   strcmp(plh_suspect_evidence_next(&leak, &judgement, &image), next_of_leak) == 0,
	   "evidence of a leak of malloc is that of any leak");
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  "malloc has given out 90000000 B outside of memory contexts, 80000000 B more") != NULL &&
	   strstr(plh_suspect_evidence(&facts, &judgement, &image), "call site") == NULL,
	   "evidence of malloc as a whole");
	ok(strstr(plh_suspect_evidence_next(&facts, &judgement, &image),
			  "; start the server with pg_leakhunt_malloc.so preloaded, and") != NULL,
	   "with how to see more");
	plh_track_malloc = false;
	ok(strstr(plh_suspect_evidence_next(&facts, &judgement, &image),
			  "; turn pg_leakhunt.track_malloc on, and") != NULL,
	   "where that was not unwanted");
	plh_track_malloc = true;
	header.malloc_tracked = 1;
	ok(strstr(plh_suspect_evidence(&facts, &judgement, &image),
			  " 5000000 B (+/- 1000000 B) of that are known by call site; threads that are not sampled have allocated 99000000 B in all.") != NULL &&
	   strstr(plh_suspect_evidence_next(&facts, &judgement, &image), "preloaded") == NULL,
	   "and with what is seen, where malloc is sampled");
}

void
test_suspects(void)
{
	test_leak_thresholds();
	test_growth_thresholds();
	test_scores();
	test_rates();
	test_epochs();
	test_query_thresholds();
	test_held_thresholds();
	test_pooling();
	test_pooled_course();
	test_odd_figures();
	test_evidence();
	test_evidence_of_malloc();
}
