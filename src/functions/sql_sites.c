/*
 * sql_sites.c
 *	  The functions of SQL that show call sites: of processes, of a dump, the difference between
 *	  two dumps, and when they allocated what they hold.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "reader/collections.h"
#include "report/listed_site.h"

PLH_FUNCTION(pg_leakhunt_report);
PLH_FUNCTION(pg_leakhunt_diff);
PLH_FUNCTION(pg_leakhunt_ages);

/*
 * Returns the rows of a site, whose stack is not described yet.  It runs in a memory context of the
 * site.
 */
typedef void (*SiteVisitor) (PlhListedSite *listed, void *arg);

/* qsort comparator of records of sites: the most live bytes first. */
static int
compare_sites(const void *a, const void *b)
{
	int64		left = (*(const PlhSiteRecord *const *) a)->counters.live_bytes;
	int64		right = (*(const PlhSiteRecord *const *) b)->counters.live_bytes;

	return left != right ? (left < right ? 1 : -1) : 0;
}

/*
 * The sites of an image that ever had a sample, the most live bytes first.  The image is a copy, so
 * that its figures do not change meanwhile.
 */
static const PlhSiteRecord **
sorted_sites(const PlhProfileImage *image, int *count)
{
	const PlhSiteRecord **sites;
	const PlhSiteRecord *site;
	uint32		position = 0;
	int			room = 256;

	*count = 0;
	sites = palloc(sizeof(*sites) * room);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (site->counters.total_samples == 0)
			continue;
		sites = plh_array_grow(sites, *count, &room, sizeof(*sites));
		sites[(*count)++] = site;
	}
	qsort(sites, *count, sizeof(*sites), compare_sites);
	return sites;
}

/*
 * Visit the sites of an image that ever had a sample, the most live bytes first.  "baseline" is the
 * one that goes with the image, or NULL.
 */
static void
visit_sites(const PlhProfileImage *image, const PlhBaseline *baseline,
			SiteVisitor visit, void *arg)
{
	int			count;
	const PlhSiteRecord **sites = sorted_sites(image, &count);
	MemoryContext site_context = AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt row",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(site_context);

	for (int i = 0; i < count; i++)
	{
		PlhSiteFacts facts;
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		plh_site_facts_resolve(&facts, image, sites[i], baseline);
		plh_listed_site_start(&listed, image, &facts);
		visit(&listed, arg);
		MemoryContextReset(site_context);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(site_context);
}

typedef struct Report
{
	PlhRowSink	sink;
	bool		with_stacks;	/* the rows are to have stacks */
	PlhStackTexts *texts;		/* of the image; NULL without stacks */
} Report;

/* SiteVisitor: one row of pg_leakhunt_report. */
static void
put_site(PlhListedSite *listed, void *arg)
{
	Report	   *report = arg;
	const PlhSiteFacts *facts = &listed->facts;
	const PlhCounters *counters = facts->counters;
	PlhRow		row = {0};

	if (report->with_stacks)
		plh_listed_site_describe_stack(listed, report->texts);

#include "functions/columns/report.def"
	plh_sql_rows_finish(&row, &report->sink);
}

/* The rows of a process or dump. */
static void
put_profile(const PlhSourceProfile *profile, Report *report)
{
	report->texts = !report->with_stacks ? NULL :
		plh_stack_text_open(plh_sql_rows_symbols(&report->sink), profile->image);
	visit_sites(profile->image, plh_sql_source_baseline(profile), put_site, report);
}

/* PlhProfileVisitor: the rows of one of all processes. */
static void
put_process(PlhProfileImage *image, void *arg)
{
	PlhSourceProfile profile = {.image = image};

	put_profile(&profile, arg);
}

/*
 * pg_leakhunt_report(target, with_stacks): the sites of each process, largest first in each.
 * Without stacks, which take most of the time, site, stack and stack_id are null.
 */
Datum
pg_leakhunt_report(PG_FUNCTION_ARGS)
{
	Report		report;
	PlhTarget	target = plh_sql_source_target(fcinfo, 2);
	PlhSourceProfile profile;

	plh_sql_rows_start(fcinfo, &report.sink);
	report.with_stacks = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	if (!target.all)
	{
		if (plh_sql_source_profile(&profile, &target))
			put_profile(&profile, &report);
	}
	else if (plh_sql_source_publish_and_save())
		plh_sql_access_visit(report.sink.sees_all, 0, put_process, &report);
	return (Datum) 0;
}

static void
put_difference(const PlhListedSite *listed, PlhRowSink *sink)
{
	PlhRow		row = {0};

#include "functions/columns/diff.def"
	plh_sql_rows_finish(&row, sink);
}

/* qsort comparator: the largest growth first, then the largest site. */
static int
compare_differences(const void *a, const void *b)
{
	const PlhListedSite *left = a;
	const PlhListedSite *right = b;
	int64		left_growth = plh_listed_site_bytes(left);
	int64		right_growth = plh_listed_site_bytes(right);

	if (left_growth != right_growth)
		return left_growth < right_growth ? 1 : -1;
	return left->bytes != right->bytes ? (left->bytes < right->bytes ? 1 : -1) : 0;
}

/*
 * pg_leakhunt_diff(older, newer): what each site holds in two dumps.
 */
Datum
pg_leakhunt_diff(PG_FUNCTION_ARGS)
{
	PlhSource	source = {0};
	PlhSiteList *list;
	PlhRowSink	sink;

	plh_sql_rows_check_arguments(fcinfo, 2);
	source.base = plh_sql_arguments_required_text(fcinfo, 0, "older");
	source.target.file = plh_sql_arguments_required_text(fcinfo, 1, "newer");
	plh_sql_rows_start(fcinfo, &sink);
	list = plh_sql_source_sites(&source);
	qsort(list->sites, list->count, sizeof(PlhListedSite), compare_differences);
	for (int i = 0; i < list->count; i++)
		put_difference(&list->sites[i], &sink);
	return (Datum) 0;
}

/* What the rows of an image are made with. */
typedef struct Ages
{
	PlhRowSink	sink;
	PlhStackTexts *texts;
	TimestampTz now;			/* when the figures of the image were true */
} Ages;

/* The interval between two times. */
static Interval *
time_between(TimestampTz from, TimestampTz until)
{
	return DatumGetIntervalP(DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(until),
												 TimestampTzGetDatum(from)));
}

/* One row: what a site allocated within a span of time. */
static void
put_age(const PlhListedSite *listed, const PlhSiteAge *age, TimestampTz now, PlhRowSink *sink)
{
	PlhRow		row = {0};

#include "functions/columns/ages.def"
	plh_sql_rows_finish(&row, sink);
}

/* SiteVisitor: the rows of a site, the oldest first. */
static void
put_ages(PlhListedSite *listed, void *arg)
{
	Ages	   *ages = arg;
	PlhSiteAge	spans[PLH_SPANS];
	int			count = 0;

	if (listed->facts.counters->live_bytes > 0)
		count = plh_site_facts_ages(spans, listed->image, listed->facts.site, ages->now);
	if (count > 0)
		plh_listed_site_describe_stack(listed, ages->texts);
	for (int i = 0; i < count; i++)
		put_age(listed, &spans[i], ages->now, &ages->sink);
}

/* The rows of a process or dump, of what crashed as it ended. */
static void
put_profile_ages(const PlhSourceProfile *profile, Ages *ages)
{
	ages->texts = plh_stack_text_open(plh_sql_rows_symbols(&ages->sink), profile->image);
	ages->now = plh_sql_source_time(profile);
	visit_sites(profile->image, NULL, put_ages, ages);
}

/*
 * pg_leakhunt_ages(target): when the call sites of a process or dump allocated what they hold, and
 * how much of what they allocated at a time is left.
 */
Datum
pg_leakhunt_ages(PG_FUNCTION_ARGS)
{
	Ages		ages;
	PlhTarget	target = plh_sql_source_target(fcinfo, 1);
	PlhSourceProfile profile;

	plh_sql_rows_start(fcinfo, &ages.sink);
	if (plh_sql_source_profile(&profile, &target))
		put_profile_ages(&profile, &ages);
	return (Datum) 0;
}
