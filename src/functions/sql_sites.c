/*
 * sql_sites.c
 *	  The functions of SQL that show call sites: of processes, of a dump, and the
 *	  difference between two dumps.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "report/listed_site.h"

#define REPORT_COLUMNS 21
#define DIFF_COLUMNS 12

PLH_FUNCTION(pg_leakhunt_report);
PLH_FUNCTION(pg_leakhunt_read_dump);
PLH_FUNCTION(pg_leakhunt_diff);

/* The sink of the rows, and whether they are to have stacks. */
typedef struct Report
{
	PlhRowSink	sink;
	bool		with_stacks;
} Report;

/* The columns growth_bytes and growth_count. */
static void
put_growth(PlhRow *row, const PlhSiteFacts *facts)
{
	if (!facts->has_baseline)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_int64(row,
						   facts->counters->live_bytes - facts->baseline_bytes);
	plh_sql_rows_put_int64(row,
						   facts->counters->live_count - facts->baseline_count);
}

/* The columns site, stack and stack_id, if the stack was described. */
static void
put_stack(PlhRow *row, const PlhListedSite *listed)
{
	plh_sql_rows_put_text(row, listed->stack.site);
	plh_sql_rows_put_frames(row, listed);
	if (listed->has_stack)
		plh_sql_rows_put_int64(row, listed->stack.stack_id);
	else
		plh_sql_rows_put_null(row);
}

/* One row of pg_leakhunt_report. */
static void
put_site(const PlhListedSite *listed, PlhRowSink *sink)
{
	const PlhSiteFacts *facts = &listed->facts;
	const PlhCounters *counters = facts->counters;
	PlhRow		row = {0};

	plh_sql_rows_put_pid(&row, listed->image->header->pid);
	plh_sql_rows_put_backend_type(&row, listed->image);
	plh_sql_rows_put_text(&row, listed->context_name);
	plh_sql_rows_put_text(&row, listed->lifetime);
	plh_sql_rows_put_query(&row, listed);
	plh_sql_rows_put_int64(&row, counters->live_bytes);
	plh_sql_rows_put_int64(&row, counters->live_count);
	plh_sql_rows_put_int64(&row, facts->error_bytes);
	put_growth(&row, facts);
	plh_sql_rows_put_int64(&row, facts->peak_bytes);
	plh_sql_rows_put_int64(&row, counters->total_bytes);
	plh_sql_rows_put_int64(&row, counters->total_count);
	plh_sql_rows_put_survival(&row, counters->live_bytes,
							  counters->total_bytes);
	plh_sql_rows_put_int64(&row, counters->live_samples);
	plh_sql_rows_put_time(&row, counters->first_at);
	plh_sql_rows_put_time(&row, counters->last_at);
	put_stack(&row, listed);
	plh_sql_rows_finish(&row, sink);
}

/* qsort comparator of records of sites: the most live bytes first. */
static int
compare_sites(const void *a, const void *b)
{
	int64		left = (*(const PlhSiteRecord *const *) a)->counters.live_bytes;
	int64		right = (*(const PlhSiteRecord *const *) b)->counters.live_bytes;

	return left != right ? (left < right ? 1 : -1) : 0;
}

/*
 * The sites of an image that ever had a sample, the most live bytes first.  The
 * owner goes on counting, but not in the image.
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
		if (*count == room)
			sites = repalloc_huge(sites, sizeof(*sites) * (room *= 2));
		sites[(*count)++] = site;
	}
	qsort(sites, *count, sizeof(*sites), compare_sites);
	return sites;
}

/*
 * Return the rows of an image, in the current memory context.  Each row has a
 * context of its own; what was found about frames is kept beside.
 */
static void
put_image(const PlhProfileImage *image, const PlhBaseline *baseline,
		  bool with_stacks, PlhRowSink *sink)
{
	PlhStackTexts *texts = !with_stacks ? NULL :
		plh_stack_text_open(plh_sql_rows_symbols(sink), image);
	int			count;
	const PlhSiteRecord **sites = sorted_sites(image, &count);
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "pg_leakhunt row",
													  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(row_context);

	for (int i = 0; i < count; i++)
	{
		PlhSiteFacts facts;
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		plh_site_facts_resolve(&facts, image, sites[i], baseline);
		plh_listed_site_start(&listed, image, &facts);
		if (with_stacks)
			plh_listed_site_describe_stack(&listed, texts);
		put_site(&listed, sink);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(row_context);
}

/* PlhProfileVisitor: the rows of one process. */
static void
put_process(PlhProfileImage *image, void *arg)
{
	Report	   *report = arg;

	put_image(image,
			  plh_baseline_file_read(plh_profile_directory_path(),
									 image),
			  report->with_stacks, &report->sink);
}

/* Return the rows of the process that has, or was the last to have, that pid. */
static void
put_one_process(int pid, Report *report)
{
	PlhProfileImage *image = plh_sql_source_process(pid, WARNING);

	if (image != NULL)
		put_process(image, report);
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

	plh_sql_rows_check_arguments(fcinfo, 2);
	if (!plh_sql_rows_start(fcinfo, &report.sink, REPORT_COLUMNS))
		return (Datum) 0;
	report.with_stacks = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	if (!PG_ARGISNULL(0))
		put_one_process(PG_GETARG_INT32(0), &report);
	else
		plh_sql_rows_visit(&report.sink, put_process, &report);
	return (Datum) 0;
}

/*
 * pg_leakhunt_read_dump(file): the rows that pg_leakhunt_report had when the dump
 * was written.
 */
Datum
pg_leakhunt_read_dump(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	PlhDump    *dump;

	plh_sql_rows_check_arguments(fcinfo, 1);
	plh_sql_rows_start_silently(fcinfo, &sink, REPORT_COLUMNS);
	plh_sql_rows_check_not_null(fcinfo, 0, "file");
	dump = plh_sql_source_dump(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							   PLH_DUMP_SITES);
	put_image(dump->image, dump->baseline, true, &sink);
	return (Datum) 0;
}

/* One row of pg_leakhunt_diff. */
static void
put_difference(const PlhListedSite *listed, PlhRowSink *sink)
{
	PlhRow		row = {0};

	plh_sql_rows_put_text(&row, listed->context_name);
	plh_sql_rows_put_text(&row, listed->lifetime);
	plh_sql_rows_put_query(&row, listed);
	plh_sql_rows_put_int64(&row, listed->old_bytes);
	plh_sql_rows_put_int64(&row, listed->bytes);
	plh_sql_rows_put_int64(&row, plh_listed_site_bytes(listed));
	plh_sql_rows_put_int64(&row, listed->old_count);
	plh_sql_rows_put_int64(&row, listed->count);
	plh_sql_rows_put_int64(&row, plh_listed_site_count(listed));
	plh_sql_rows_put_text(&row, listed->stack.site);
	plh_sql_rows_put_frames(&row, listed);
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
	plh_sql_rows_start_silently(fcinfo, &sink, DIFF_COLUMNS);
	list = plh_sql_source_sites(&source);
	qsort(list->sites, list->count, sizeof(PlhListedSite),
		  compare_differences);
	for (int i = 0; i < list->count; i++)
		put_difference(&list->sites[i], &sink);
	return (Datum) 0;
}
