/*
 * suspect_list.c
 *	  The findings on one process, one for each cause, the largest first.
 *
 * site_suspects.c judges the sites that last.  A family of contexts whose number keeps
 * growing, or is large, is one suspect, in place of the sites in these contexts.  All
 * that a statement holds is one.  Growth that none of these explains is one of the
 * process.
 */
#include "postgres.h"

#include "judge/course.h"
#include "judge/family_suspect.h"
#include "judge/process_suspect.h"
#include "judge/site_suspects.h"
#include "judge/statement_suspect.h"
#include "judge/suspect_list.h"
#include "reader/collections.h"

/* What fewer subtransactions hold is not for their number. */
#define FEW_SUBTRANSACTIONS 8

/* Is a site in contexts of that family? */
static bool
is_in(const PlhJudge *judge, const PlhSiteRecord *site,
	  const PlhFamilyAccount *family)
{
	if (plh_lifetime_is_lasting(site->key.lifetime) != family->lasting)
		return false;
	if (family->family == NULL)
		return site->key.context_name == family->largest->context_name;
	return plh_site_suspects_family(judge, site) == family->family;
}

/* The sites in contexts of that family that hold something, in the order of groups. */
static PlhGroupedSite *
sites_in(const PlhJudge *judge, const PlhFamilyAccount *family, int *count)
{
	int			room = 256;
	PlhGroupedSite *sites = palloc(sizeof(PlhGroupedSite) * room);
	PlhGroupedSite next;
	uint32		position = 0;

	*count = 0;
	while (plh_site_suspects_next(&next, judge, &position))
	{
		if (next.site->counters.live_bytes <= 0 || !is_in(judge, next.site, family))
			continue;
		sites = plh_array_grow(sites, *count, &room, sizeof(PlhGroupedSite));
		sites[(*count)++] = next;
	}
	plh_site_suspects_sort(sites, *count);
	return sites;
}

/* What the sites of one group hold, and the largest of them. */
typedef struct GroupShare
{
	const PlhSiteRecord *site;
	double		bytes;
} GroupShare;

/* The share of sites[begin] and of those of its group behind it; "end" is behind them. */
static GroupShare
share_of(const PlhGroupedSite *sites, int begin, int count, int *end)
{
	GroupShare	share = {.site = sites[begin].site};

	for (*end = begin; *end < count && sites[*end].group == sites[begin].group; (*end)++)
	{
		const PlhSiteRecord *site = sites[*end].site;

		share.bytes += (double) site->counters.live_bytes;
		if (site->counters.live_bytes > share.site->counters.live_bytes)
			share.site = site;
	}
	return share;
}

/*
 * Find the site that holds most in contexts of the suspect's family, over all statements,
 * and whether that is much of what is sampled in them.
 */
static void
find_largest_site(PlhSuspect *suspect, const PlhJudge *judge)
{
	GroupShare	largest = {0};
	double		sampled = 0.0;
	int			count;
	PlhGroupedSite *sites = sites_in(judge, suspect->family, &count);

	for (int i = 0; i < count;)
	{
		GroupShare	share = share_of(sites, i, count, &i);

		sampled += share.bytes;
		if (share.bytes > largest.bytes)
			largest = share;
	}
	suspect->site = largest.site;
	suspect->is_scattered = largest.bytes < PLH_NAMED_PART * sampled;
	pfree(sites);
}

/*
 * Drop the sites in contexts of that family: what makes the contexts is to blame, and
 * not the code that allocates in them.
 */
static void
drop_sites_in(PlhJudge *judge, const PlhFamilyAccount *family)
{
	PlhSuspectList *list = judge->list;
	int			kept = 0;

	for (int i = 0; i < list->count; i++)
	{
		const PlhSuspect *suspect = &list->suspects[i];

		if (suspect->family != NULL || suspect->site == NULL ||
			!is_in(judge, suspect->site, family))
			list->suspects[kept++] = *suspect;
	}
	list->count = kept;
}

/* What sites in contexts of that family are suspect of already. */
static double
found_in(const PlhJudge *judge, const PlhFamilyAccount *family)
{
	double		found = 0.0;

	for (int i = 0; i < judge->list->count; i++)
	{
		const PlhSuspect *suspect = &judge->list->suspects[i];

		if (suspect->family == NULL && suspect->site != NULL &&
			is_in(judge, suspect->site, family))
			found += suspect->facts.live_bytes;
	}
	return found;
}

/*
 * Enter the families of contexts that are suspect, in the place of sites in them.  In
 * a cache, sites of an extension may leak: they stay beside it.
 */
static void
judge_families(PlhJudge *judge)
{
	const PlhAccount *account = judge->list->account;

	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];
		PlhSuspect	suspect = {.context = family->largest,.family = family};

		if (!plh_family_suspect_judge(&suspect.facts, &suspect.judgement, family,
									  account, judge->image->header,
									  judge->counted_to))
			continue;
		suspect.facts.is_alive = judge->image->alive;
		if (suspect.judgement.verdict != PLH_VERDICT_GROWING)
			drop_sites_in(judge, family);
		else if (found_in(judge, family) >=
				 PLH_SUSPECT_EXPLAINED_PART * suspect.judgement.late_bytes)
			continue;
		find_largest_site(&suspect, judge);
		plh_site_suspects_add(judge, &suspect);
	}
}

/* Is there a finding on contexts that end with the statement?  Then it is that. */
static bool
is_statement_explained(const PlhSuspectList *list)
{
	for (int i = 0; i < list->count; i++)
		if (list->suspects[i].family != NULL &&
			!list->suspects[i].family->lasting)
			return true;
	return false;
}

/*
 * The contexts that hold much of what a statement does, where what they are is known
 * better than that they are the executor's, in which hash tables have their arrays.
 */
static const PlhFamilyAccount *
main_part(const PlhAccount *account, const PlhProfileHeader *header)
{
	const PlhFamily *executor = plh_family_of("ExecutorState");
	const PlhFamily *subtransactions = plh_family_of("CurTransactionContext");

	if (!plh_statement_suspect_is_counted(account, header))
		return NULL;
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (!family->lasting && family->family != NULL &&
			family->family != executor &&
			(family->family != subtransactions || family->contexts >= FEW_SUBTRANSACTIONS) &&
			family->family->kind == PLH_FAMILY_STATEMENT &&
			family->bytes > account->passing_bytes / 3)
			return family;
	}
	return NULL;
}

/* The contexts that have most of what a statement holds; NULL where that is not known. */
static const PlhContextRecord *
largest_contexts(const PlhAccount *account, const PlhProfileHeader *header)
{
	if (!plh_statement_suspect_is_counted(account, header))
		return NULL;
	for (int i = 0; i < account->family_count; i++)
		if (!account->families[i].lasting)
			return account->families[i].largest;
	return NULL;
}

/* Enter what the statement or transaction holds, if it is too much. */
static void
judge_statement(PlhJudge *judge)
{
	PlhSuspect	suspect = {
		.site = judge->shares[0].site,
		.facts = {.counted_to = judge->counted_to,.is_alive = judge->image->alive}
	};

	if (judge->statement.limit_bytes == 0)
		judge->statement.limit_bytes = judge->image->header->node_memory_bytes;
	if (is_statement_explained(judge->list) ||
		!plh_statement_suspect_judge(&suspect.facts, &suspect.judgement,
									 &judge->statement, judge->list->account,
									 judge->image->header))
		return;
	suspect.facts.live_samples = judge->statement.samples;
	suspect.part = main_part(judge->list->account, judge->image->header);
	suspect.context = suspect.part != NULL ? suspect.part->largest :
		largest_contexts(judge->list->account, judge->image->header);
	for (int i = 0; i < PLH_SHARES && judge->shares[i].site != NULL; i++)
		suspect.shares[suspect.share_count++] = judge->shares[i];
	plh_site_suspects_add(judge, &suspect);
}

/*
 * Do sites of malloc that leak hold most of what malloc has grown by, or of what it has
 * given out where that is much?  The history begins with the profile, so that the sites
 * held next to nothing then.
 */
static bool
is_explained(const PlhSuspectList *list, const PlhSuspect *process)
{
	double		explained = 0.0;

	for (int i = 0; i < list->count; i++)
	{
		const PlhSuspectFacts *facts = &list->suspects[i].facts;

		if (list->suspects[i].judgement.verdict == PLH_VERDICT_MALLOC)
			explained += (double) facts->live_bytes +
				PLH_SUSPECT_MALLOC_ADDS * (double) facts->live_count;
	}
	return process->judgement.verdict == PLH_VERDICT_MALLOC &&
		explained >= PLH_SUSPECT_EXPLAINED_PART *
		(double) plh_process_suspect_malloc_bytes(&process->facts);
}

/* Has the family a verdict of its own, once it grows?  Or is it a cache, which fills up? */
static bool
is_judged_alone(const PlhFamilyAccount *family)
{
	return family->lasting && family->family != NULL &&
		family->family->kind != PLH_FAMILY_NODES &&
		family->family->kind != PLH_FAMILY_EXECUTOR &&
		family->family->kind != PLH_FAMILY_STATEMENT;
}

/*
 * Do findings on what the session keeps, and families that are judged by themselves,
 * explain most of the growth that a process shows as a whole?
 */
static bool
is_growth_explained(const PlhSuspectList *list, const PlhSuspect *process)
{
	double		explained = 0.0;

	for (int i = 0; i < list->count; i++)
	{
		const PlhSuspectFacts *facts = &list->suspects[i].facts;

		if (facts->subject == PLH_SUBJECT_SITE ||
			(facts->subject == PLH_SUBJECT_CONTEXTS && facts->is_session &&
			 !is_judged_alone(list->suspects[i].family)))
			explained += (double) facts->live_bytes;
	}
	for (int i = 0; i < list->account->family_count; i++)
		if (is_judged_alone(&list->account->families[i]))
			explained += (double) list->account->families[i].bytes;
	return process->judgement.verdict == PLH_VERDICT_GROWING &&
		explained >= PLH_SUSPECT_EXPLAINED_PART * (double) process->facts.growth_bytes;
}

/* Enter what the process as a whole is suspect of. */
static void
judge_process(PlhJudge *judge)
{
	static const PlhVerdict verdicts[] = {
		PLH_VERDICT_MALLOC, PLH_VERDICT_MAPPED, PLH_VERDICT_FREED,
		PLH_VERDICT_GROWING
	};

	for (int i = 0; i < lengthof(verdicts); i++)
	{
		PlhSuspect	suspect = {0};

		if (!plh_process_suspect_judge(&suspect.facts, &suspect.judgement,
									   judge->image->header, verdicts[i],
									   judge->counted_to) ||
			is_explained(judge->list, &suspect) ||
			is_growth_explained(judge->list, &suspect))
			continue;
		suspect.facts.is_alive = judge->image->alive;
		plh_site_suspects_add(judge, &suspect);
	}
}

/* qsort comparator: the largest first, and last what may be no fault at all. */
static int
compare_suspects(const void *a, const void *b)
{
	const PlhSuspect *left = a;
	const PlhSuspect *right = b;
	bool		left_grows = left->judgement.verdict == PLH_VERDICT_GROWING;
	bool		right_grows = right->judgement.verdict == PLH_VERDICT_GROWING;

	if (left_grows != right_grows)
		return left_grows ? 1 : -1;
	if (left->facts.live_bytes != right->facts.live_bytes)
		return left->facts.live_bytes > right->facts.live_bytes ? -1 : 1;
	return 0;
}

/* What a site holds, and has gained, is no more than that. */
static void
bound(PlhSuspectFacts *facts, int64 most)
{
	facts->live_bytes = Min(facts->live_bytes, most);
	facts->growth_bytes = Min(facts->growth_bytes, most);
}

/*
 * Estimates are never more than what was counted: of a site that had no sample since
 * the census, its contexts hold no less than it does, nor does malloc give out less.
 */
static void
bound_by_counts(const PlhSuspectList *list, const PlhProfileHeader *header)
{
	for (int i = 0; i < list->count; i++)
	{
		PlhSuspect *suspect = &list->suspects[i];
		int64		most = list->account->lasting_bytes;

		if (suspect->facts.subject != PLH_SUBJECT_SITE ||
			suspect->site->counters.last_at > header->census_at)
			continue;
		if (suspect->facts.is_malloc && list->account->knows_malloc)
			bound(&suspect->facts, list->account->outside_bytes);
		if (suspect->facts.is_malloc || !suspect->facts.is_session)
			continue;
		for (int k = 0; k < list->account->family_count; k++)
		{
			const PlhFamilyAccount *family = &list->account->families[k];

			if (family->lasting && family->family == NULL &&
				family->largest->context_name == suspect->site->key.context_name)
				most = family->bytes;
		}
		bound(&suspect->facts, most);
	}
}

/* By how much has what the process keeps fallen since its history began? */
static int64
fall_of(const PlhProfileHeader *header)
{
	PlhTrend	trend;

	plh_course_trend(&trend, header, PLH_SERIES_LASTING);
	return trend.fall;
}

/*
 * The suspects of an image, in the current memory context, referring to the
 * image.  "baseline" is NULL where there is none.  counted_to is now, or the time
 * of the last sample of a process that is gone.
 */
PlhSuspectList *
plh_suspect_list_make(const PlhProfileImage *image,
					  const PlhBaseline *baseline, TimestampTz counted_to)
{
	PlhJudge	judge = {image, NULL, counted_to};

	/* what began later has not grown since, but begun */
	if (baseline != NULL && (baseline->taken_at == 0 ||
							 baseline->taken_at >= image->header->started_at))
		judge.baseline = baseline;
	judge.judges_malloc = !plh_process_suspect_misses_frees(image->header);
	judge.fall_bytes = fall_of(image->header);
	judge.room = 8;
	judge.list = palloc(sizeof(PlhSuspectList));
	judge.list->count = 0;
	judge.list->suspects = palloc(sizeof(PlhSuspect) * judge.room);
	judge.list->account = plh_account_make(image);
	plh_site_suspects_judge(&judge);
	judge_families(&judge);
	judge_statement(&judge);
	judge_process(&judge);
	if (judge.list->account->is_counted)
		bound_by_counts(judge.list, image->header);
	qsort(judge.list->suspects, judge.list->count, sizeof(PlhSuspect),
		  compare_suspects);
	return judge.list;
}
