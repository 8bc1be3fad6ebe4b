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

/* What they hold whatever the error. */
static int64
known_bytes(const Sum *sum)
{
	double		bytes = Min(sum->bytes, (double) PG_INT64_MAX / 2);

	return (int64) bytes - (int64) plh_sampling_error_bytes(sum->variance, bytes, sum->samples);
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
		statement->largest_bytes = Max(statement->largest_bytes, known_bytes(&functions[i]));
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

	if (judge->statement.bytes < PLH_SUSPECT_LARGE_BYTES / 2 || count < 2)
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
	judge->statement.unlimited_bytes = known_bytes(&unlimited);
	pfree(functions);
	pfree(origins);
}
