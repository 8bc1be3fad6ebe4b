/*
 * test_odd_suspects.c
 *	  The verdict on sites whose figures cannot be.
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "suspect_facts.h"
#include "unit_tests.h"

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
	facts.fall_bytes = odd_integer(prng);
	facts.counts = odd_integer(prng);
	facts.counted_early = pg_prng_bool(prng);
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
void
test_odd_suspects(void)
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
		wrong_rates += judgement.rate.is_known ? judgement.rate.bytes_per_hour < 0 :
			judgement.rate.bytes_per_hour != 0;
		wrong_rates += !isfinite(judgement.steadiness) ||
			judgement.steadiness < 0;
		wrong_errors += judgement.error_bytes < 0;
	}
	printf("# odd figures: %d leaks, %d growing\n",
		   found[PLH_VERDICT_LEAK], found[PLH_VERDICT_GROWING]);
	ok(found[PLH_VERDICT_LEAK] > 0 && found[PLH_VERDICT_GROWING] > 0 &&
	   found[PLH_VERDICT_HELD] > 0, "odd figures come to all verdicts on sites");
	ok(wrong_scores == 0, "scores are between 0 and 1");
	ok(wrong_rates == 0, "rates are finite, and never negative");
	ok(wrong_errors == 0, "errors are never negative");
	ok(wrong_ages == 0, "ages are at least 1");
}
