/*
 * suspect_list.c
 *	  The suspects of one process.  Its sites are judged one by one; sites that
 *	  differ only in their statement are also judged together.  What no site
 *	  shows, the process is judged for as a whole.
 *
 * A site that leaks by itself is a suspect.  Sites of the same stack and
 * context, none of which leaks, are one suspect if they are together.  Contexts
 * that become more are one, in the place of the sites in them.  Growth of malloc is
 * one of the process, unless sites of malloc that leak are most of it.
 */
#include "postgres.h"

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "verdict/process_suspect.h"
#include "verdict/statement_limit.h"
#include "verdict/suspect_list.h"

/* A site, and which others it is judged with. */
typedef struct GroupedSite
{
	uint64		group;			/* offsets of its stack and context name */
	uint32		lifetime;
	const PlhSiteRecord *site;
} GroupedSite;

/* The facts that all sites of an image are judged by, and the suspects so far. */
typedef struct Judge
{
	const PlhProfileImage *image;
	const PlhBaseline *baseline;	/* NULL if there is none */
	TimestampTz counted_to;
	bool		judges_malloc;	/* its samples agree with what it says */
	PlhSuspectList *list;		/* of those found so far */
	int			room;			/* of the list */
} Judge;

#define ST_SORT sort_by_group
#define ST_ELEMENT_TYPE GroupedSite
#define ST_COMPARE(a, b) \
	((a)->group < (b)->group ? -1 : (a)->group > (b)->group ? 1 : \
	 (int) (a)->lifetime - (int) (b)->lifetime)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Is the site one that can be judged? */
static bool
is_judged(const PlhProfileImage *image, const PlhSiteRecord *site,
		  bool judges_malloc)
{
	return site->key.lifetime != PLH_LIFETIME_ERROR &&
		(site->key.lifetime != PLH_LIFETIME_PROCESS || judges_malloc) &&
		site->counters.total_samples > 0 &&
		plh_profile_image_stack(image, site->key.stack) != NULL;
}

/* The sites that are judged, those of one group next to each other. */
static GroupedSite *
group_sites(const Judge *judge, int *count)
{
	const PlhProfileImage *image = judge->image;
	int			room = 256;
	GroupedSite *sites = palloc(sizeof(GroupedSite) * room);
	const PlhSiteRecord *site;
	uint32		position = 0;

	*count = 0;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (!is_judged(image, site, judge->judges_malloc))
			continue;
		if (*count == room)
		{
			room *= 2;
			sites = repalloc(sites, sizeof(GroupedSite) * room);
		}
		sites[*count].group = (uint64) site->key.stack << 32 |
			site->key.context_name;
		sites[*count].lifetime = site->key.lifetime;
		sites[(*count)++].site = site;
	}
	sort_by_group(sites, *count);
	return sites;
}

static void
collect_facts(PlhSuspectFacts *facts, const Judge *judge,
			  const PlhSiteRecord *site)
{
	plh_suspect_collect(facts, judge->image->header, site);
	facts->counted_to = judge->counted_to;
	facts->limit_bytes = plh_statement_limit(judge->image, site);
	if (judge->baseline != NULL)
	{
		int64		bytes;
		int64		count;

		plh_baseline_site(judge->baseline,
						  plh_profile_image_offset(judge->image, site),
						  &bytes, &count);
		plh_suspect_subtract_baseline(facts, bytes);
		facts->baseline_at = judge->baseline->taken_at;
	}
}

/* Enter a suspect. */
static void
add_suspect(Judge *judge, const PlhSuspect *suspect)
{
	PlhSuspectList *list = judge->list;

	if (list->count == judge->room)
	{
		judge->room *= 2;
		list->suspects = repalloc(list->suspects,
								  sizeof(PlhSuspect) * judge->room);
	}
	list->suspects[list->count++] = *suspect;
}

/*
 * Enter a site, or several under the name of one, if it is a suspect; or only if
 * it leaks.
 */
static void
judge_facts(Judge *judge, const PlhSiteRecord *site,
			const PlhSuspectFacts *facts, bool only_leaks)
{
	PlhSuspect	suspect = {
		.site = site,
		.facts = *facts,
		.judgement = plh_suspect_judge(facts)
	};

	if (only_leaks ? plh_suspect_leaks(facts, &suspect.judgement) :
		suspect.judgement.verdict != PLH_VERDICT_NONE)
		add_suspect(judge, &suspect);
}

/*
 * Judge the sites of one group.
 */
static void
judge_group(Judge *judge, const GroupedSite *sites, int count)
{
	int			found_before = judge->list->count;
	const PlhSiteRecord *largest = sites[0].site;
	PlhSuspectFacts sum = {0};
	PlhSuspectFacts facts;
	bool		needs_course;

	for (int i = 0; i < count; i++)
	{
		const PlhSiteRecord *site = sites[i].site;

		collect_facts(&facts, judge, site);
		judge_facts(judge, site, &facts, true);
		plh_suspect_pool(&sum, &facts);
		if (site->counters.live_bytes > largest->counters.live_bytes)
			largest = site;
	}
	if (judge->list->count > found_before)
		return;

	/*
	 * One site that leaks has been found above, and where little is held the
	 * course of the sum makes no difference.
	 */
	needs_course = sum.live_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		(sum.statements > 1 || !sum.is_session);
	for (int i = 0; i < count && needs_course; i++)
	{
		collect_facts(&facts, judge, sites[i].site);
		plh_suspect_pool_early(&sum, sites[i].site, &facts);
	}

	/* statements of one transaction share its epoch */
	sum.epochs = Min(sum.epochs, sum.age_epochs);
	judge_facts(judge, largest, &sum, false);
}

/* Of the sites in contexts of that name and lifetime, the one that holds most. */
static const PlhSiteRecord *
largest_in(const GroupedSite *sites, int count, const PlhContextRecord *context)
{
	const PlhSiteRecord *largest = NULL;

	for (int i = 0; i < count; i++)
	{
		const PlhSiteRecord *site = sites[i].site;

		if (site->key.context_name == context->context_name &&
			site->key.lifetime == context->lifetime &&
			(largest == NULL ||
			 site->counters.live_bytes > largest->counters.live_bytes))
			largest = site;
	}
	return largest;
}

/*
 * Drop the sites in contexts of that name and lifetime, which go on becoming more:
 * then what makes the contexts is to blame, and not who allocates in them.
 */
static void
drop_sites_in(Judge *judge, const PlhContextRecord *context)
{
	PlhSuspectList *list = judge->list;
	int			kept = 0;

	for (int i = 0; i < list->count; i++)
	{
		const PlhSiteRecord *site = list->suspects[i].site;

		if (site == NULL || list->suspects[i].context != NULL ||
			site->key.context_name != context->context_name ||
			site->key.lifetime != context->lifetime)
			list->suspects[kept++] = list->suspects[i];
	}
	list->count = kept;
}

/* Enter the contexts that go on becoming more, in the place of sites in them. */
static void
judge_contexts(Judge *judge, const GroupedSite *sites, int count)
{
	const PlhContextRecord *context;
	uint32		position = 0;

	while ((context = plh_profile_image_next_context(judge->image,
													 &position)) != NULL)
	{
		PlhSuspect	suspect = {.context = context};

		if (!plh_process_suspect_contexts(&suspect.facts, &suspect.judgement,
										  judge->image->header, context))
			continue;
		drop_sites_in(judge, context);
		suspect.site = largest_in(sites, count, context);
		add_suspect(judge, &suspect);
	}
}

/*
 * Do sites of malloc that leak hold most of what malloc has grown by?  The history
 * begins with the profile, so that they held next to nothing then.
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
		explained >= PLH_SUSPECT_EXPLAINED_PART * (double) process->facts.growth_bytes;
}

/* Enter what the process as a whole is suspect of. */
static void
judge_process(Judge *judge)
{
	static const PlhVerdict verdicts[] = {
		PLH_VERDICT_MALLOC, PLH_VERDICT_MAPPED, PLH_VERDICT_RETAINED
	};

	for (int i = 0; i < lengthof(verdicts); i++)
	{
		PlhSuspect	suspect = {0};

		if (plh_process_suspect_judge(&suspect.facts, &suspect.judgement,
									  judge->image->header, verdicts[i],
									  judge->counted_to) &&
			!is_explained(judge->list, &suspect))
			add_suspect(judge, &suspect);
	}
}

/*
 * qsort comparator: leaks first, of malloc or not, by what they hold, as all that
 * belongs to what leaks does, too; then by verdict, score and size.
 */
static int
compare_suspects(const void *a, const void *b)
{
	const PlhSuspect *left = a;
	const PlhSuspect *right = b;
	bool		left_leaks = plh_suspect_leaks(&left->facts, &left->judgement);
	bool		right_leaks = plh_suspect_leaks(&right->facts, &right->judgement);

	if (left_leaks != right_leaks)
		return left_leaks ? -1 : 1;
	if (!left_leaks &&
		left->judgement.verdict != right->judgement.verdict)
		return left->judgement.verdict > right->judgement.verdict ? -1 : 1;
	if (!left_leaks && left->judgement.score != right->judgement.score)
		return left->judgement.score > right->judgement.score ? -1 : 1;
	if (left->facts.live_bytes != right->facts.live_bytes)
		return left->facts.live_bytes > right->facts.live_bytes ? -1 : 1;
	return 0;
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
	Judge		judge = {image, baseline, counted_to, false};
	int			count;
	GroupedSite *sites;

	judge.judges_malloc = !plh_process_suspect_misses_frees(image->header);
	sites = group_sites(&judge, &count);
	judge.room = 8;
	judge.list = palloc(sizeof(PlhSuspectList));
	judge.list->count = 0;
	judge.list->suspects = palloc(sizeof(PlhSuspect) * judge.room);
	for (int begin = 0, end; begin < count; begin = end)
	{
		for (end = begin + 1; end < count; end++)
			if (sites[end].group != sites[begin].group ||
				sites[end].lifetime != sites[begin].lifetime)
				break;
		judge_group(&judge, &sites[begin], end - begin);
	}
	judge_contexts(&judge, sites, count);
	judge_process(&judge);
	pfree(sites);
	qsort(judge.list->suspects, judge.list->count, sizeof(PlhSuspect),
		  compare_suspects);
	return judge.list;
}
