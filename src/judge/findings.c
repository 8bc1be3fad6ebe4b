/*
 * findings.c
 *	  The findings on one process, one for each cause, the largest first.
 *
 * site_suspects.c judges the sites that last.  A family of contexts whose number keeps growing, or
 * is large, is one finding, in place of the sites in these contexts.  All that a statement holds is
 * one.  Growth that none of these explains is one of the process.
 */
#include "postgres.h"

#include "judge/course.h"
#include "judge/decoding_suspect.h"
#include "judge/process_suspect.h"
#include "judge/findings.h"
#include "judge/one_cause.h"
#include "judge/site_suspects.h"
#include "judge/statement_functions.h"
#include "reader/collections.h"

/* What fewer subtransactions hold is not for their number. */
#define FEW_SUBTRANSACTIONS 8

/* The most that a chunk takes besides its size. */
#define CHUNK_HEADER_BYTES 16

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
		if (next.site->counters.live_bytes <= 0 ||
			!plh_site_suspects_is_in(judge->image, next.site, family))
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
 * Find the site that holds most in contexts of the finding's family, over all statements, and
 * whether that is much of what is sampled in them.
 */
static void
find_largest_site(PlhFinding *finding, const PlhJudge *judge)
{
	GroupShare	largest = {0};
	double		sampled = 0.0;
	int			count;
	PlhGroupedSite *sites = sites_in(judge, finding->contexts.family, &count);

	for (int i = 0; i < count;)
	{
		GroupShare	share = share_of(sites, i, count, &i);

		sampled += share.bytes;
		if (share.bytes > largest.bytes)
			largest = share;
	}
	finding->site = largest.site;
	finding->contexts.is_scattered = largest.bytes < PLH_NAMED_PART * sampled;
	pfree(sites);
}

/*
 * Drop the sites in contexts of that family: what makes the contexts is to blame, and not the code
 * that allocates in them.
 */
static void
drop_sites_in(PlhJudge *judge, const PlhFamilyAccount *family)
{
	PlhFindings *findings = judge->findings;
	int			kept = 0;

	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];

		if (plh_finding_family(finding) != NULL || finding->site == NULL ||
			!plh_site_suspects_is_in(judge->image, finding->site, family))
			findings->list[kept++] = *finding;
	}
	findings->count = kept;
}

/* Does the server fill a cache of its own there?  Whoever knows functions knows that. */
static bool
fills_cache(const PlhJudge *judge, const PlhSiteRecord *site)
{
	return judge->causes->fills_cache(judge->causes->arg, site);
}

/*
 * Is a finding on a site at which the server fills a cache of its own, in contexts for that?  What
 * is lost is in no cache.
 */
static bool
is_of_cache(const PlhJudge *judge, const PlhFinding *finding)
{
	const PlhFamily *family = plh_finding_subject(finding) != PLH_SUBJECT_SITE ? NULL :
		plh_site_suspects_family(judge->image, finding->site);

	return !plh_finding_is_lost(finding) && family != NULL && family->kind == PLH_FAMILY_CACHE &&
		fills_cache(judge, finding->site);
}

/*
 * Drop the sites at which the server fills its caches: each of them may grow as steadily as a leak,
 * and whether the cache is full is told by the counts of its contexts.
 */
static void
drop_sites_of_caches(PlhJudge *judge)
{
	PlhFindings *findings = judge->findings;
	int			kept = 0;

	if (judge->causes == NULL)
		return;
	for (int i = 0; i < findings->count; i++)
		if (!is_of_cache(judge, &findings->list[i]))
			findings->list[kept++] = findings->list[i];
	findings->count = kept;
}

/* What sites in contexts of that family are suspect of already. */
static double
found_in(const PlhJudge *judge, const PlhFamilyAccount *family)
{
	double		found = 0.0;

	for (int i = 0; i < judge->findings->count; i++)
	{
		const PlhFinding *finding = &judge->findings->list[i];

		if (plh_finding_family(finding) == NULL && finding->site != NULL &&
			plh_site_suspects_is_in(judge->image, finding->site, family))
			found += finding->bytes;
	}
	return found;
}

/*
 * Is it a cache that the server fills, and that has come to rest, so that it may be full?  What an
 * extension keeps in one is not known to have an end.
 */
static bool
is_full(const PlhJudge *judge, const PlhFinding *finding)
{
	return finding->kind == PLH_KIND_CACHE_GROWS && judge->causes != NULL &&
		(finding->site == NULL || fills_cache(judge, finding->site)) &&
		plh_process_suspect_family_rests(finding->contexts.family, judge->image->header,
										 judge->counted_to);
}

/*
 * Enter the families of contexts that are suspect, in the place of sites in them.  In a cache,
 * sites of an extension may leak: they stay beside it.
 */
static void
judge_families(PlhJudge *judge)
{
	const PlhAccount *account = judge->findings->account;

	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];
		PlhFinding	finding;

		if (!plh_process_suspect_judge_family(&finding, family, account, judge->image->header,
											  judge->counted_to))
			continue;
		if (finding.kind != PLH_KIND_CACHE_GROWS)
			drop_sites_in(judge, family);
		else if (found_in(judge, family) >= PLH_SUSPECT_EXPLAINED_PART * finding.late_bytes)
			continue;
		find_largest_site(&finding, judge);
		if (!is_full(judge, &finding))
			plh_site_suspects_add(judge, &finding);
	}
}

/* Is there a finding on contexts that end with the statement?  Then it is that. */
static bool
is_statement_explained(const PlhFindings *findings)
{
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFamilyAccount *family = plh_finding_family(&findings->list[i]);

		if (family != NULL && !family->lasting)
			return true;
	}
	return false;
}

/*
 * The contexts that hold much of what a statement does, where what they are is known better than
 * that they are the executor's, in which hash tables have their arrays.
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
	const PlhAccount *account = judge->findings->account;
	const PlhProfileHeader *header = judge->image->header;
	PlhFinding	finding;

	if (judge->statement.limit_bytes == 0)
	{
		/* without a sample nobody knows what kind of statement it is */
		judge->statement.limit = PLH_LIMIT_NODE;
		judge->statement.limit_bytes = Max(header->node_memory_bytes, header->maintenance_bytes);
	}
	if (is_statement_explained(judge->findings) ||
		!plh_statement_suspect_judge(&finding, &judge->statement, account, header,
									 judge->counted_to))
		return;
	finding.site = judge->statement_site;
	finding.statement.part = main_part(account, header);
	finding.context = finding.statement.part != NULL ? finding.statement.part->largest :
		largest_contexts(account, header);
	for (int i = 0; i < PLH_SHARES && judge->shares[i].site != NULL; i++)
		finding.statement.shares[finding.statement.share_count++] = judge->shares[i];
	plh_site_suspects_add(judge, &finding);
}

/*
 * Do sites of malloc that leak, or grow and can be reached, hold most of what malloc has grown by,
 * or of what it has given out where that is much?  The history begins with the profile, so that
 * the sites held next to nothing then.
 */
static bool
is_explained(const PlhFindings *findings, const PlhFinding *process)
{
	double		explained = 0.0;

	if (!plh_finding_is_outside(process) || process->kind == PLH_KIND_MAPPED_GROWS)
		return false;
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFinding *finding = &findings->list[i];

		if (plh_finding_subject(finding) == PLH_SUBJECT_SITE && finding->sites.is_malloc &&
			finding->kind != PLH_KIND_SITE_HOLDS && finding->kind != PLH_KIND_SITE_GROWS)
			explained += (double) finding->bytes +
				PLH_SUSPECT_MALLOC_ADDS * (double) finding->sites.live_count;
	}
	return explained >= PLH_SUSPECT_EXPLAINED_PART *
		(double) plh_process_suspect_malloc_bytes(process);
}

/* Has the family a verdict of its own, once it grows?  Or is it a cache, which fills up? */
static bool
is_judged_alone(const PlhFamilyAccount *family)
{
	return family->lasting && family->family != NULL &&
		family->family->kind != PLH_FAMILY_NODES &&
		family->family->kind != PLH_FAMILY_EXECUTOR && family->family->kind != PLH_FAMILY_STATEMENT;
}

/* Is a finding part of what a process keeps, and of no family that is judged alone? */
static bool
explains_growth(const PlhFinding *finding)
{
	const PlhFamilyAccount *family = plh_finding_family(finding);

	return family == NULL ? plh_finding_subject(finding) == PLH_SUBJECT_SITE :
		family->lasting && !is_judged_alone(family);
}

/* What contexts of the name of a site's have, of those that last. */
static int64
counted_in(const PlhAccount *account, const PlhSiteRecord *site)
{
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting && family->family == NULL &&
			family->largest->context_name == site->key.context_name)
			return family->bytes;
	}
	return account->lasting_bytes;
}

/*
 * What of the growth of contexts a finding explains.  Contexts take more than is asked for: a chunk
 * has a header, of up to CHUNK_HEADER_BYTES, and its size is rounded up, to twice as much at most.
 * Of what they take, those sites have the part that they have of the samples there.
 */
static double
explained_by(const PlhJudge *judge, const PlhFinding *finding)
{
	double		bytes = (double) finding->bytes;
	double		sampled = 0.0;
	uint32		position = 0;
	PlhGroupedSite next;

	if (plh_finding_subject(finding) != PLH_SUBJECT_SITE || finding->sites.is_malloc)
		return bytes;
	while (plh_site_suspects_next(&next, judge, &position))
		if (next.lifetime == finding->site->key.lifetime &&
			next.site->key.context_name == finding->site->key.context_name)
			sampled += Max(0.0, (double) next.site->counters.live_bytes);
	return Max(bytes,
			   Min(2.0 * bytes + CHUNK_HEADER_BYTES * (double) finding->sites.live_count,
				   bytes / Max(bytes, sampled) *
				   (double) counted_in(judge->findings->account, finding->site)));
}

/*
 * Do findings on what the session keeps, and families that are judged by themselves, explain most
 * of the growth that a process shows as a whole?
 */
static bool
is_growth_explained(const PlhJudge *judge, const PlhFinding *process)
{
	const PlhFindings *findings = judge->findings;
	double		explained = 0.0;

	if (process->kind != PLH_KIND_PROCESS_GROWS)
		return false;
	for (int i = 0; i < findings->count; i++)
		if (explains_growth(&findings->list[i]))
			explained += explained_by(judge, &findings->list[i]);
	for (int i = 0; i < findings->account->family_count; i++)
		if (is_judged_alone(&findings->account->families[i]))
			explained += (double) findings->account->families[i].bytes;
	return explained >= PLH_SUSPECT_EXPLAINED_PART * (double) process->growth_bytes;
}

/* A proof would tell something new of what malloc has given out. */
static void
note_begun(PlhFindings *findings, const PlhFinding *process)
{
	if ((process->kind == PLH_KIND_MALLOC_GROWS || process->kind == PLH_KIND_MALLOC_REACHED) &&
		!plh_proven_suspect_is_proven(&process->process.proven, process->bytes))
		findings->begun_bytes += process->bytes;
}

static void
judge_process(PlhJudge *judge)
{
	for (PlhKind kind = 0; kind < PLH_KINDS; kind++)
	{
		PlhFinding	finding;

		if (plh_verdict_subject(kind) != PLH_SUBJECT_PROCESS ||
			!plh_process_suspect_judge(&finding, judge->image->header, kind, judge->counted_to) ||
			!plh_process_suspect_fits_proof(&finding, judge->image) ||
			is_explained(judge->findings, &finding) || is_growth_explained(judge, &finding))
			continue;
		note_begun(judge->findings, &finding);
		plh_site_suspects_add(judge, &finding);
	}
}

/* qsort comparator: the largest first, and last what may be no fault at all. */
static int
compare_findings(const void *a, const void *b)
{
	const PlhFinding *left = a;
	const PlhFinding *right = b;
	bool		left_grows = plh_finding_verdict(left) == PLH_VERDICT_GROWING;
	bool		right_grows = plh_finding_verdict(right) == PLH_VERDICT_GROWING;

	if (left_grows != right_grows)
		return left_grows ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return 0;
}

/*
 * What a site holds, and has gained, is no more than that.  What it has allocated in all is
 * estimated by the same samples: so the part of it that is left stays the same.
 */
static void
bound(PlhFinding *finding, int64 most)
{
	int64		left = finding->sites.left_bytes;

	if (left > most && left > 0)
		finding->sites.total_bytes = (int64)
			((double) finding->sites.total_bytes * most / left);
	plh_proven_bound(&finding->sites.proven, left, most);
	finding->sites.left_bytes = Min(left, most);
	finding->bytes = plh_finding_is_lost(finding) ?
		plh_proven_lost_for_good(&finding->sites.proven) : Min(finding->bytes, most);
	finding->growth_bytes = Min(finding->growth_bytes, most);
}

/*
 * Estimates are never more than what was counted: of a site that had no sample since the census,
 * its contexts hold no less than it does, nor does malloc give out less.
 */
static void
bound_by_counts(PlhFindings *findings, const PlhProfileHeader *header)
{
	const PlhAccount *account = findings->account;

	for (int i = 0; i < findings->count; i++)
	{
		PlhFinding *finding = &findings->list[i];

		if (plh_finding_subject(finding) != PLH_SUBJECT_SITE ||
			finding->site->counters.last_at > header->census_at)
			continue;
		if (!finding->sites.is_malloc)
			bound(finding, counted_in(account, finding->site));
		else if (account->knows_malloc)
			bound(finding, account->outside_bytes);
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
 * The findings of an image, in the current memory context, referring to the image.  "baseline" is
 * NULL where there is none.  counted_to is now, or the time of the last sample of a process that is
 * gone.
 */
PlhFindings *
plh_findings_make(const PlhProfileImage *image, const PlhBaseline *baseline,
				  TimestampTz counted_to, const PlhCauses *causes)
{
	PlhJudge	judge = {image, NULL, counted_to,.causes = causes};
	PlhFindings *findings = palloc0(sizeof(PlhFindings));

	/* what began later has not grown since, but begun */
	if (baseline != NULL && (baseline->taken_at == 0 ||
							 baseline->taken_at >= image->header->started_at))
		judge.baseline = baseline;
	judge.judges_malloc = !plh_process_suspect_misses_frees(image->header);
	judge.fall_bytes = fall_of(image->header);
	judge.counts = plh_course_counts(image->header);
	judge.room = 8;
	judge.findings = findings;
	findings->list = palloc(sizeof(PlhFinding) * judge.room);
	judge.statement_site_room = 64;
	judge.statement_sites = palloc(sizeof(PlhStatementSite) * judge.statement_site_room);
	findings->account = plh_account_make(image);
	plh_site_suspects_judge(&judge);
	plh_one_cause_merge(&judge);
	plh_statement_functions_add_up(&judge);
	drop_sites_of_caches(&judge);
	judge_families(&judge);
	plh_decoding_suspect_merge(&judge);
	judge_statement(&judge);
	judge_process(&judge);
	if (findings->account->is_counted)
		bound_by_counts(findings, image->header);
	qsort(findings->list, findings->count, sizeof(PlhFinding), compare_findings);
	return findings;
}
