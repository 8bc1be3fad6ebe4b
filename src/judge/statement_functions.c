/*
 * statement_functions.c
 *	  What one function holds of a statement, at all of its call sites and depths.
 *
 * A function that is reached by recursion, or from many places, allocates at many stacks, each of
 * which has little.  To a statement it is one, and may hold no more than one call site may.  What
 * plan nodes allocate is left out: each of them has a limit of its own, wherever it is in a plan.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/statement_functions.h"
#include "judge/suspect.h"

/* The most sites that are looked at, the largest. */
#define MOST_SITES 1000

/* More than that is no figure of a sound profile. */
#define MOST_BYTES ((double) (PG_INT64_MAX / 8))

/* What is known of several sites. */
typedef struct Sum
{
	double		bytes;
	double		variance;
	int64		samples;
	const PlhStatementSite *largest;
} Sum;

/* Ask what the largest sites are part of. */
static PlhSiteOrigin *
origins_of(const PlhJudge *judge, int count)
{
	PlhShare   *shares = palloc(sizeof(PlhShare) * count);
	PlhSiteOrigin *origins = palloc0(sizeof(PlhSiteOrigin) * count);

	for (int i = 0; i < count; i++)
		shares[i] = judge->statement_sites[i].share;
	judge->causes->find_origins(judge->causes->arg, shares, count, origins);
	pfree(shares);
	return origins;
}

static void
add(Sum *sum, const PlhStatementSite *site)
{
	sum->bytes += (double) site->share.bytes;
	sum->variance += site->variance;
	sum->samples += site->samples;
	if (sum->largest == NULL)
		sum->largest = site;
}

static int64
error_of(const Sum *sum)
{
	return (int64) plh_sampling_error_bytes(sum->variance, sum->bytes, sum->samples);
}

/* What they hold at least, and at most. */
static int64
least_bytes(const Sum *sum)
{
	return (int64) Min(sum->bytes, MOST_BYTES) - error_of(sum);
}

static int64
most_bytes(const Sum *sum)
{
	return (int64) Min(sum->bytes, MOST_BYTES) + error_of(sum);
}

/* Note what of all no setting limits, and what may be something else that was not sampled. */
static void
note_unlimited(PlhStatementSamples *statement, const Sum *unlimited)
{
	const Sum	others = {
		.bytes = Max(0.0, (double) statement->bytes - unlimited->bytes),
		.variance = Max(0.0, statement->variance - unlimited->variance),
		.samples = statement->samples - unlimited->samples
	};

	if (unlimited->samples <= 0)
		return;
	statement->unlimited_bytes = most_bytes(unlimited);
	statement->other_bytes = others.samples > 0 ? most_bytes(&others) :
		(int64) plh_sampling_missed_bytes(Min(unlimited->bytes / unlimited->samples,
											  PG_INT32_MAX));
}

/* Let the function that holds most be the largest site. */
static void
find_largest(PlhJudge *judge, const Sum *functions, int count)
{
	PlhStatementSamples *statement = &judge->statement;
	double		most = (double) judge->shares[0].bytes;
	const PlhSiteRecord *site = judge->statement_site;

	for (int i = 1; i <= count; i++)
	{
		statement->largest_bytes = Max(statement->largest_bytes, least_bytes(&functions[i]));
		if (functions[i].bytes > most)
		{
			most = functions[i].bytes;
			site = functions[i].largest->share.site;
		}
	}
	if (site == judge->statement_site)
		return;
	judge->statement_site = site;
	statement->limit = plh_statement_limit_kind(judge->image, site);
	statement->limit_bytes = plh_statement_limit_judged(judge->image, site);
}

void
plh_statement_functions_add_up(PlhJudge *judge)
{
	int			count = Min(judge->statement_site_count, MOST_SITES);
	PlhSiteOrigin *origins;
	Sum		   *functions;
	Sum			unlimited = {0};

	if (judge->statement.bytes < PLH_SUSPECT_FUNCTION_BYTES || count < 2)
		return;
	/* the share comes first */
	qsort(judge->statement_sites, judge->statement_site_count, sizeof(PlhStatementSite),
		  plh_site_facts_compare_shares);
	origins = origins_of(judge, count);
	functions = palloc0(sizeof(Sum) * (count + 1));
	for (int i = 0; i < count; i++)
	{
		if (origins[i].function > 0 && origins[i].function <= (uint32) count)
			add(&functions[origins[i].function], &judge->statement_sites[i]);
		if (origins[i].is_unlimited)
			add(&unlimited, &judge->statement_sites[i]);
	}
	find_largest(judge, functions, count);
	note_unlimited(&judge->statement, &unlimited);
	pfree(functions);
	pfree(origins);
}
