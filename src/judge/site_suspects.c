/*
 * site_suspects.c
 *	  Judges the sites of a process: those that last, one by one or together; those of a
 *	  statement are added up.
 *
 * A site that leaks by itself is a suspect.  Sites of the same stack in C and the same context,
 * none of which leaks, are one suspect if they are together.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/sampling.h"
#include "judge/site_suspects.h"
#include "reader/collections.h"

#define ST_SORT sort_by_group
#define ST_ELEMENT_TYPE PlhGroupedSite
#define ST_COMPARE(a, b) plh_site_suspects_compare(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_epochs
#define ST_ELEMENT_TYPE uint32
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Odd, and without a pattern. */
#define HASH_FACTOR UINT64CONST(0x9e3779b97f4a7c15)

/*
 * Names of contexts of which it is known whether sites in them are judged: a process has few, and
 * hundreds of sites in each.
 */
#define KNOWN_NAMES 64

typedef struct JudgedName
{
	uint32		context_name;	/* offset */
	bool		is_known;
	bool		is_judged;
} JudgedName;

/* The stack of a site; NULL if the site can't be judged. */
static const PlhStackRecord *
judged_stack(const PlhProfileImage *image, const PlhSiteRecord *site, bool judges_malloc)
{
	if (site->key.lifetime == PLH_LIFETIME_ERROR ||
		(site->key.lifetime == PLH_LIFETIME_PROCESS && !judges_malloc) ||
		site->counters.total_samples <= 0)
		return NULL;
	return plh_profile_image_stack(image, site->key.stack);
}

/*
 * The number of a site's group.  A function in C that leaks does so from wherever it is called:
 * each line of PL/pgSQL that leads there may have too little of it to be judged by.  So stacks with
 * routines have the number of their frames in C.
 */
static uint64
group_of(const PlhSiteRecord *site, const PlhStackRecord *stack)
{
	uint64		hash = site->key.context_name;

	if (stack->routines == 0)
		return (uint64) site->key.stack << 32 | site->key.context_name;
	for (uint32 i = 0; i < stack->depth; i++)
	{
		if (!PLH_FRAME_IS_ROUTINE(stack->frames[i]))
			hash = hash_combine64(hash, stack->frames[i] * HASH_FACTOR);
	}
	return hash;
}

/*
 * Find the next site that can be judged, at *position, which is 0 at first, or behind.  Returns
 * false at the end.
 */
bool
plh_site_suspects_next(PlhGroupedSite *next, const PlhJudge *judge, uint32 *position)
{
	const PlhProfileImage *image = judge->image;
	const PlhSiteRecord *site;

	while ((site = plh_profile_image_next_site(image, position)) != NULL)
	{
		const PlhStackRecord *stack = judged_stack(image, site, judge->judges_malloc);

		if (stack == NULL)
			continue;
		next->group = group_of(site, stack);
		next->lifetime = site->key.lifetime;
		next->statement = site->key.statement;
		next->site = site;
		return true;
	}
	return false;
}

/* The family of the contexts of a site, if it is known. */
const PlhFamily *
plh_site_suspects_family(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhStringRecord *name = plh_profile_image_string(image, site->key.context_name);

	return name == NULL ? NULL : plh_family_of(name->text);
}

bool
plh_site_suspects_is_in(const PlhProfileImage *image, const PlhSiteRecord *site,
						const PlhFamilyAccount *contexts)
{
	if (plh_lifetime_is_lasting(site->key.lifetime) != contexts->lasting)
		return false;
	if (contexts->family == NULL)
		return site->key.context_name == contexts->largest->context_name;
	return plh_site_suspects_family(image, site) == contexts->family;
}

/*
 * Are sites in those contexts judged by themselves?  Of contexts that are one for each thing that
 * the session has made, and of PostgreSQL's own caches, all together are.
 */
static bool
judges_sites_in(const PlhJudge *judge, const PlhSiteRecord *site)
{
	const PlhFamily *family = plh_site_suspects_family(judge->image, site);

	return family == NULL || family->kind == PLH_FAMILY_NODES ||
		family->kind == PLH_FAMILY_EXECUTOR ||
		family->kind == PLH_FAMILY_STATEMENT ||
		strcmp(plh_profile_image_string(judge->image, site->key.context_name)->text,
			   "CacheMemoryContext") == 0;
}

/* Is a site judged, with the others of its group?  All that end with a statement are. */
static bool
is_judged(JudgedName *known, const PlhJudge *judge, const PlhSiteRecord *site)
{
	JudgedName *name = &known[site->key.context_name / 8 % KNOWN_NAMES];

	if (!plh_lifetime_is_lasting(site->key.lifetime))
		return true;
	if (!name->is_known || name->context_name != site->key.context_name)
		*name = (JudgedName)
	{
		site->key.context_name, true, judges_sites_in(judge, site)
	};
	return name->is_judged;
}

void
plh_site_suspects_sort(PlhGroupedSite *sites, int count)
{
	sort_by_group(sites, count);
}

PlhGroupedSite *
plh_site_suspects_group(const PlhJudge *judge, int *count)
{
	JudgedName	known[KNOWN_NAMES] = {{0}};
	int			room = 256;
	PlhGroupedSite *sites = palloc(sizeof(PlhGroupedSite) * room);
	PlhGroupedSite next;
	uint32		position = 0;

	*count = 0;
	while (plh_site_suspects_next(&next, judge, &position))
	{
		if (!is_judged(known, judge, next.site))
			continue;
		sites = plh_array_grow(sites, *count, &room, sizeof(PlhGroupedSite));
		sites[(*count)++] = next;
	}
	plh_site_suspects_sort(sites, *count);
	return sites;
}

void
plh_site_suspects_collect(PlhSuspectFacts *facts, const PlhJudge *judge, const PlhSiteRecord *site)
{
	plh_suspect_collect(facts, judge->image->header, site);
	facts->counted_to = judge->counted_to;
	facts->fall_bytes = judge->fall_bytes;
	facts->counts = judge->counts;
	facts->counted_early = facts->counts > 0 &&
		(facts->early.epochs == 0 || judge->image->header->history[0].at <= facts->early.at);
	facts->limit_bytes = plh_statement_limit_judged(judge->image, site);
	plh_proven_collect(&facts->proven, judge->image, site);
	if (judge->baseline != NULL)
	{
		int64		bytes;
		int64		count;

		plh_baseline_site(judge->baseline, plh_profile_image_offset(judge->image, site),
						  &bytes, &count);
		plh_suspect_subtract_baseline(facts, bytes);
		facts->baseline_at = judge->baseline->taken_at;
	}
}

void
plh_site_suspects_add(PlhJudge *judge, const PlhFinding *finding)
{
	PlhFindings *findings = judge->findings;

	findings->list = plh_array_grow(findings->list, findings->count, &judge->room,
									sizeof(PlhFinding));
	findings->list[findings->count++] = *finding;
}

static PlhKind
kind_of(const PlhJudgement *judgement)
{
	bool		is_lost = judgement->basis == PLH_BY_LOSS;

	switch (judgement->verdict)
	{
		case PLH_VERDICT_MALLOC:
			return is_lost ? PLH_KIND_MALLOC_SITE_LOST : PLH_KIND_MALLOC_SITE_LEAKS;
		case PLH_VERDICT_HELD:
			return PLH_KIND_SITE_HOLDS;
		case PLH_VERDICT_GROWING:
			return judgement->basis == PLH_BY_REACH ? PLH_KIND_SITE_REACHED : PLH_KIND_SITE_GROWS;
		default:
			return is_lost ? PLH_KIND_SITE_LOST : PLH_KIND_SITE_LEAKS;
	}
}

PlhFinding
plh_site_suspects_finding(const PlhSiteRecord *site, const PlhSuspectFacts *facts,
						  const PlhJudgement *judgement)
{
	return (PlhFinding)
	{
		.kind = kind_of(judgement),
			.bytes = judgement->bytes,
			.error_bytes = judgement->error_bytes,
			.counted_at = facts->counted_to,
			.has_baseline = facts->has_baseline,
			.growth_bytes = facts->growth_bytes,
			.baseline_at = facts->baseline_at,
			.late_bytes = judgement->late_bytes,
			.rate = judgement->rate,
			.score = judgement->score,
			.site = site,
			.sites =
		{
			.is_malloc = facts->is_malloc,
				.is_over = facts->is_over,
				.sites = facts->sites,
				.statements = facts->statements,
				.live_count = facts->live_count,
				.live_bytes = facts->live_bytes,
				.left_bytes = facts->live_bytes,
				.left_error = (int64) plh_sampling_error_bytes(facts->live_variance,
															   facts->live_bytes,
															   facts->live_samples),
				.total_bytes = facts->total_bytes,
				.spare_bytes = facts->spare_bytes,
				.transactions = facts->transactions,
				.epochs = facts->epochs,
				.age_epochs = facts->age_epochs,
				.early_epochs = facts->early.epochs,
				.early_bytes = facts->early.live_bytes,
				.early_at = facts->early.at,
				.late_epochs = judgement->late_epochs,
				.last_at = facts->last_at,
				.proven = facts->proven
		}
	};
}

/*
 * Enter a site, or several under the name of one, if it is a suspect; or only if it leaks, or would
 * if it could not be reached.
 */
static void
judge_facts(PlhJudge *judge, const PlhSiteRecord *site,
			const PlhSuspectFacts *facts, bool only_leaks)
{
	PlhJudgement judgement = plh_proven_suspect_judge(facts);
	bool		leaks = plh_suspect_leaks(facts, &judgement) ||
		judgement.basis == PLH_BY_REACH;

	if (only_leaks ? leaks : judgement.verdict != PLH_VERDICT_NONE)
	{
		PlhFinding	finding = plh_site_suspects_finding(site, facts, &judgement);

		plh_site_suspects_add(judge, &finding);
	}
}

/* Keep a share if it is among the largest. */
static void
keep_share(PlhShare *shares, const PlhSiteRecord *site, int64 bytes)
{
	int			place = PLH_SHARES;

	while (place > 0 && shares[place - 1].bytes < bytes)
		place--;
	if (place == PLH_SHARES)
		return;
	memmove(&shares[place + 1], &shares[place], sizeof(PlhShare) * (PLH_SHARES - 1 - place));
	shares[place].site = site;
	shares[place].bytes = bytes;
}

/* Note sites of one stack and context for those who know functions. */
static void
note_statement_site(PlhJudge *judge, const PlhSuspectFacts *sum, const PlhSiteRecord *largest)
{
	if (judge->causes == NULL)
		return;
	judge->statement_sites = plh_array_grow(judge->statement_sites, judge->statement_site_count,
											&judge->statement_site_room,
											sizeof(PlhStatementSite));
	judge->statement_sites[judge->statement_site_count++] = (PlhStatementSite)
	{
		{
			largest, sum->live_bytes
		},
			sum->live_variance, sum->live_samples
	};
}

/* Add sites of one stack and context, which end with a statement, to what it holds. */
static void
add_to_statement(PlhJudge *judge, const PlhSuspectFacts *sum, const PlhSiteRecord *largest)
{
	PlhStatementSamples *statement = &judge->statement;
	const PlhFamily *family;
	int64		known;

	if (sum->live_samples <= 0)
		return;
	statement->bytes += Min(sum->live_bytes, PG_INT64_MAX / 16);
	statement->samples += sum->live_samples;
	statement->variance += sum->live_variance;
	if (sum->live_bytes > judge->shares[0].bytes)
	{
		statement->limit = plh_statement_limit_kind(judge->image, largest);
		statement->limit_bytes = sum->limit_bytes;
		judge->statement_site = largest;
	}
	keep_share(judge->shares, largest, sum->live_bytes);
	family = plh_site_suspects_family(judge->image, largest);
	if (family != NULL && family->kind == PLH_FAMILY_NODES)
		return;
	known = sum->live_bytes -
		(int64) plh_sampling_error_bytes(sum->live_variance, sum->live_bytes, sum->live_samples);
	statement->largest_bytes = Max(statement->largest_bytes, known);
	note_statement_site(judge, sum, largest);
}

/* Judge sites one by one; returns whether one of them is a suspect by itself. */
static bool
judge_each(PlhJudge *judge, const PlhGroupedSite *sites, int count)
{
	int			found_before = judge->findings->count;

	for (int i = 0; i < count; i++)
	{
		PlhSuspectFacts facts;

		plh_site_suspects_collect(&facts, judge, sites[i].site);
		judge_facts(judge, sites[i].site, &facts, true);
	}
	return judge->findings->count > found_before;
}

/*
 * What sites held in the middle of their common life.  Where little is held, the course of the sum
 * over several statements makes no difference.
 */
static void
pool_early(PlhSuspectFacts *sum, const PlhJudge *judge, const PlhGroupedSite *sites, int count)
{
	if (sum->statements > 1 && sum->live_bytes < PLH_SUSPECT_LARGE_BYTES)
		return;
	for (int i = 0; i < count; i++)
	{
		PlhSuspectFacts facts;

		plh_site_suspects_collect(&facts, judge, sites[i].site);
		plh_suspect_pool_early(sum, sites[i].site, &facts);
	}
}

/* The site of which most is lost. */
static const PlhSiteRecord *
most_lost(const PlhJudge *judge, const PlhGroupedSite *sites, int count)
{
	const PlhSiteRecord *found = sites[0].site;
	int64		most = 0;

	for (int i = 0; i < count; i++)
	{
		PlhSuspectFacts facts;

		plh_site_suspects_collect(&facts, judge, sites[i].site);
		if (plh_proven_lost_for_good(&facts.proven) <= most)
			continue;
		most = plh_proven_lost_for_good(&facts.proven);
		found = sites[i].site;
	}
	return found;
}

/*
 * Judge sites of one stack and context that last, one by one or together.  What is lost has one
 * cause, whichever statements run into it.
 */
static void
judge_lasting(PlhJudge *judge, const PlhGroupedSite *sites, int count,
			  PlhSuspectFacts *sum, const PlhSiteRecord *largest)
{
	bool		is_lost = plh_proven_suspect_is_lost(sum);

	if ((!is_lost || count == 1) && judge_each(judge, sites, count))
		return;

	/* of a single site, its own course has been looked at above */
	if (sum->sites > 1 || is_lost)
		pool_early(sum, judge, sites, count);

	/* statements of one transaction share its epoch */
	sum->epochs = Min(sum->epochs, sum->age_epochs);
	judge_facts(judge, is_lost ? most_lost(judge, sites, count) : largest, sum, false);
}

/*
 * In how many epochs sites of one statement had samples, which differ in their routines: at least
 * in as many as one of them had, and in those of all first and last samples.
 */
static int64
least_epochs(const PlhGroupedSite *sites, int count)
{
	uint32	   *ends = palloc(sizeof(uint32) * 2 * count);
	int			end_count = 0;
	int64		different = 0;
	int64		most = 0;

	for (int i = 0; i < count; i++)
	{
		const PlhSiteRecord *site = sites[i].site;

		if (site->counters.live_samples <= 0)
			continue;
		ends[end_count++] = site->first_epoch;
		ends[end_count++] = site->last_epoch;
		most = Max(most, site->epochs);
	}
	sort_epochs(ends, end_count);
	for (int i = 0; i < end_count; i++)
		different += i == 0 || ends[i] != ends[i - 1];
	pfree(ends);
	return Max(different, most);
}

/* Count statements, and epochs, of which the sites of one statement share some. */
static void
count_by_statement(PlhSuspectFacts *sum, const PlhGroupedSite *sites, int count)
{
	int64		shared = sum->epochs;

	sum->statements = 0;
	sum->epochs = 0;
	for (int begin = 0, end; begin < count; begin = end)
	{
		int64		epochs;

		for (end = begin + 1; end < count; end++)
			if (sites[end].statement != sites[begin].statement)
				break;
		epochs = least_epochs(&sites[begin], end - begin);
		sum->statements += epochs > 0;
		sum->epochs += epochs;
	}
	shared -= sum->epochs;
	sum->transactions = Max(sum->transactions - Max(shared, 0), 1);
}

/* Add up the sites of one group.  Returns the one that holds most. */
static const PlhSiteRecord *
add_up(PlhSuspectFacts *sum, const PlhJudge *judge, const PlhGroupedSite *sites, int count)
{
	const PlhSiteRecord *largest = sites[0].site;
	PlhSuspectFacts facts;

	for (int i = 0; i < count; i++)
	{
		const PlhSiteRecord *site = sites[i].site;

		plh_site_suspects_collect(&facts, judge, site);
		plh_suspect_pool(sum, &facts);
		if (site->counters.live_bytes > largest->counters.live_bytes)
			largest = site;
	}
	return largest;
}

/* Do the sites of one group hold too little to be judged? */
static bool
hold_little(const PlhGroupedSite *sites, int count)
{
	double		bytes = 0.0;

	for (int i = 0; i < count; i++)
		bytes += (double) sites[i].site->counters.live_bytes;
	return bytes < PLH_SUSPECT_FLOOR_BYTES;
}

/* Would a proof tell something new of those sites, which may be suspects already? */
static void
note_begun(PlhJudge *judge, const PlhSuspectFacts *sum, bool are_suspects)
{
	if (are_suspects ? !plh_proven_suspect_is_proven(&sum->proven, sum->live_bytes) :
		plh_proven_suspect_is_begun(sum))
		judge->findings->begun_bytes += Min(sum->live_bytes, PG_INT64_MAX / 16);
}

static void
judge_group(PlhJudge *judge, const PlhGroupedSite *sites, int count)
{
	bool		is_lasting = plh_lifetime_is_lasting(sites[0].lifetime);
	int			found_before = judge->findings->count;
	const PlhSiteRecord *largest;
	PlhSuspectFacts sum = {0};

	if (is_lasting && hold_little(sites, count))
		return;
	largest = add_up(&sum, judge, sites, count);
	if (!is_lasting)
	{
		add_to_statement(judge, &sum, largest);
		return;
	}
	if (sum.sites > 1)
		count_by_statement(&sum, sites, count);
	judge_lasting(judge, sites, count, &sum, largest);
	note_begun(judge, &sum, judge->findings->count > found_before);
}

int
plh_site_suspects_group_end(const PlhGroupedSite *sites, int begin, int count)
{
	int			end = begin + 1;

	while (end < count && sites[end].group == sites[begin].group &&
		   sites[end].lifetime == sites[begin].lifetime)
		end++;
	return end;
}

/* Judge all sites, group by group. */
void
plh_site_suspects_judge(PlhJudge *judge)
{
	int			count;
	PlhGroupedSite *sites = plh_site_suspects_group(judge, &count);

	for (int begin = 0, end; begin < count; begin = end)
	{
		end = plh_site_suspects_group_end(sites, begin, count);
		judge_group(judge, &sites[begin], end - begin);
	}
	pfree(sites);
}
