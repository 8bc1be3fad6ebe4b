/*
 * sql_sites.c
 *	  The functions of SQL that show call sites: of processes, of a dump, and the
 *	  difference between two dumps.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_site_visits.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "report/listed_site.h"

PLH_FUNCTION(pg_leakhunt_report);
PLH_FUNCTION(pg_leakhunt_read_dump);
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

/* Return the rows of an image, in the current memory context. */
static void
put_image(Report *report, const PlhProfileImage *image, const PlhBaseline *baseline)
{
	report->texts = !report->with_stacks ? NULL :
		plh_stack_text_open(plh_sql_rows_symbols(&report->sink), image);
	plh_sql_site_visits_make(image, baseline, put_site, report);
}

/* PlhProfileVisitor: the rows of one process. */
static void
put_process(PlhProfileImage *image, void *arg)
{
	put_image(arg, image,
			  plh_baseline_file_read(plh_profile_directory_path(), image));
}

/*
 * pg_leakhunt_report(pid, with_stacks): the sites of one process, or of all
 * (null), largest first in each.  Without stacks, which take most of the time,
 * site, stack and stack_id are null.
 */
Datum
pg_leakhunt_report(PG_FUNCTION_ARGS)
{
	Report		report;
	PlhProfileImage *image;

	plh_sql_rows_check_arguments(fcinfo, 2);
	plh_sql_rows_start(fcinfo, &report.sink);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	report.with_stacks = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	if (PG_ARGISNULL(0))
		plh_sql_access_visit(report.sink.sees_all, 0, put_process, &report);
	else if ((image = plh_sql_source_process(PG_GETARG_INT32(0), WARNING)) != NULL)
		put_process(image, &report);
	return (Datum) 0;
}

/*
 * pg_leakhunt_read_dump(file): the rows that pg_leakhunt_report had when the dump
 * was written.
 */
Datum
pg_leakhunt_read_dump(PG_FUNCTION_ARGS)
{
	Report		report = {.with_stacks = true};
	PlhDump    *dump;

	plh_sql_rows_check_arguments(fcinfo, 1);
	plh_sql_rows_start(fcinfo, &report.sink);
	plh_sql_rows_check_not_null(fcinfo, 0, "file");
	dump = plh_sql_source_dump(text_to_cstring(PG_GETARG_TEXT_PP(0)), false);
	put_image(&report, dump->image, dump->baseline);
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
	return left->bytes != right->bytes ?
		(left->bytes < right->bytes ? 1 : -1) : 0;
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
	source.file = text_to_cstring(PG_GETARG_TEXT_PP(1));
	source.base = text_to_cstring(PG_GETARG_TEXT_PP(0));
	plh_sql_rows_start(fcinfo, &sink);
	list = plh_sql_source_sites(&source);
	qsort(list->sites, list->count, sizeof(PlhListedSite),
		  compare_differences);
	for (int i = 0; i < list->count; i++)
		put_difference(&list->sites[i], &sink);
	return (Datum) 0;
}
