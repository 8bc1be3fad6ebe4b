/*
 * sql_sites.c
 *	  The functions of SQL that show call sites: of processes, of a dump, and the difference
 *	  between two dumps.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_site_visits.h"
#include "functions/sql_source.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "report/listed_site.h"

PLH_FUNCTION(pg_leakhunt_report);
PLH_FUNCTION(pg_leakhunt_diff);

typedef struct Report
{
	PlhRowSink	sink;
	bool		with_stacks;	/* the rows are to have stacks */
	PlhStackTexts *texts;		/* of the image; NULL without stacks */
} Report;

/* PlhSiteVisitor: one row of pg_leakhunt_report. */
static void
put_site(PlhListedSite *listed, void *arg)
{
	Report	   *report = arg;
	const PlhSiteFacts *facts = &listed->facts;
	const PlhCounters *counters = facts->counters;
	PlhRow		row = {0};

	if (report->with_stacks)
		plh_listed_site_describe_stack(listed, report->texts);

#define COLUMN PLH_PUT_COLUMN
#include "functions/columns/report.def"
	plh_sql_rows_finish(&row, &report->sink);
}

/* The rows of a process or dump. */
static void
put_profile(const PlhSourceProfile *profile, Report *report)
{
	report->texts = !report->with_stacks ? NULL :
		plh_stack_text_open(plh_sql_rows_symbols(&report->sink), profile->image);
	plh_sql_site_visits_make(profile->image, plh_sql_source_baseline(profile), put_site, report);
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
		if (plh_sql_source_profile(&profile, &target, WARNING))
			put_profile(&profile, &report);
	}
	else if (plh_sql_source_publish_and_save())
		plh_sql_access_visit(report.sink.sees_all, 0, put_process, &report);
	return (Datum) 0;
}

/* One row of pg_leakhunt_diff. */
static void
put_difference(const PlhListedSite *listed, PlhRowSink *sink)
{
	PlhRow		row = {0};

#define COLUMN PLH_PUT_COLUMN
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
	plh_sql_rows_check_not_null(fcinfo, 0, "older");
	plh_sql_rows_check_not_null(fcinfo, 1, "newer");
	source.target.file = text_to_cstring(PG_GETARG_TEXT_PP(1));
	source.base = text_to_cstring(PG_GETARG_TEXT_PP(0));
	plh_sql_rows_start(fcinfo, &sink);
	list = plh_sql_source_sites(&source);
	qsort(list->sites, list->count, sizeof(PlhListedSite), compare_differences);
	for (int i = 0; i < list->count; i++)
		put_difference(&list->sites[i], &sink);
	return (Datum) 0;
}
