/*
 * sql_check.c
 *	  The function of SQL that tests a statement for leaks.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "base/plural.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "reader/database_text.h"
#include "report/listed_site.h"
#include "verdict/core_cache.h"
#include "verdict/leak_check.h"
#include "verdict/suppression.h"

#define CHECK_COLUMNS 6

PLH_FUNCTION(pg_leakhunt_check);

/* An argument that counts executions. */
static int
get_count(FunctionCallInfo fcinfo, int number, const char *name, int least)
{
	int			count;

	plh_sql_rows_check_not_null(fcinfo, number, name);
	count = PG_GETARG_INT32(number);
	if (count < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least %d", name, least)));
	return count;
}

/*
 * Cut the stack where our own frames begin: callers of pg_leakhunt_check are not
 * part of the leak, and a pattern that matches them must not suppress it.
 */
static void
cut_at_own_frames(PlhStackText *stack)
{
	for (int i = 0; i < stack->frame_count; i++)
	{
		const char *module = stack->frames[i].module;

		if (module != NULL && strstr(module, "/pg_leakhunt.so") != NULL)
			stack->frame_count = i;
	}
}

/* Describe the site of a leak; of contexts as such there is only a name. */
static void
describe_leak(PlhListedSite *listed, const PlhProfileImage *image,
			  const PlhLeak *leak, PlhStackTexts *texts)
{
	PlhSiteFacts facts = {0};
	const PlhStringRecord *name;

	if (leak->site != NULL)
	{
		plh_site_facts_resolve(&facts, image, leak->site, NULL);
		plh_listed_site_start(listed, image, &facts);
		plh_listed_site_describe_stack(listed, texts);
		if (listed->has_stack)
			cut_at_own_frames(&listed->stack);
		return;
	}
	memset(listed, 0, sizeof(*listed));
	listed->stack.site = "[memory contexts]";
	name = plh_profile_image_string(image, leak->contexts->context_name);
	if (name != NULL)
		listed->context_name =
			plh_database_text_fit_foreign(name->text, name->text_bytes,
										  image->header->encoding);
}

/* Return one row, if it is a leak.  Returns whether it is suppressed. */
static bool
put_leak(const PlhListedSite *listed, const PlhLeak *leak, int iterations,
		 const PlhSuppressions *suppressions, PlhRowSink *sink)
{
	PlhRow		row = {0};

	if (listed->has_stack && plh_core_cache_has(&listed->stack, PLH_FUNCTION_BOUNDED_CACHE))
		return false;
	if (plh_suppression_any(suppressions, listed->context_name,
							listed->has_stack ? &listed->stack : NULL))
		return true;
	plh_sql_rows_put_datum(&row,
						   Float8GetDatum((double) leak->bytes / iterations));
	plh_sql_rows_put_datum(&row,
						   Float8GetDatum((double) leak->count / iterations));
	plh_sql_rows_put_text(&row, listed->context_name);
	plh_sql_rows_put_site(&row, listed);
	plh_sql_rows_put_frames(&row, listed);
	plh_sql_rows_finish(&row, sink);
	return false;
}

/* Return the rows of a check; the result says how many are suppressed. */
static int
put_leaks(const PlhLeakCheck *check, int iterations,
		  const PlhSuppressions *suppressions, PlhRowSink *sink)
{
	const PlhProfileImage *image;
	PlhStackTexts *texts;
	int			suppressed = 0;

	if (check->leak_count == 0)
		return 0;
	image = plh_profile_image_own(plh_profile);
	texts = plh_stack_text_open(plh_sql_rows_symbols(sink), image);
	for (int i = 0; i < check->leak_count; i++)
	{
		PlhListedSite listed;

		describe_leak(&listed, image, &check->leaks[i], texts);
		suppressed += put_leak(&listed, &check->leaks[i], iterations,
							   suppressions, sink);
	}
	return suppressed;
}

/* Say that memory stays behind of which there are no rows. */
static void
report_malloc(int64 bytes)
{
	bool		tracked = plh_profile->malloc_tracked != 0;

	if (bytes == 0)
		return;
	ereport(NOTICE,
			(errmsg("malloc outside of memory contexts grew by at least %lld %s per iteration",
					(long long) bytes, plh_plural(bytes, "byte", "bytes")),
			 tracked ?
			 errdetail("No call site is known for it: other threads allocated it, which pg_leakhunt_check does not follow, or malloc uses it itself.") :
			 errdetail("No call site is known for it: that needs pg_leakhunt_malloc.so in LD_PRELOAD, and pg_leakhunt.track_malloc on."),
			 tracked ?
			 errhint("To see what threads of libraries allocate, use heaptrack or jemalloc's profiler.") :
			 errhint("To see the call sites, start the server with pg_leakhunt_malloc.so in LD_PRELOAD.")));
}

/*
 * pg_leakhunt_check(query, iterations, warmup)
 */
Datum
pg_leakhunt_check(PG_FUNCTION_ARGS)
{
	PlhSuppressions *suppressions;
	PlhLeakCheck check;
	PlhRowSink	sink;
	int			iterations;
	int			warmup;
	int			suppressed;

	plh_sql_rows_check_arguments(fcinfo, 3);
	plh_sql_rows_check_not_null(fcinfo, 0, "query");
	iterations = get_count(fcinfo, 1, "iterations", 2);
	warmup = get_count(fcinfo, 2, "warmup", 0);
	plh_sql_source_check_active();
	plh_sql_rows_start(fcinfo, &sink, CHECK_COLUMNS);
	suppressions = plh_sql_suppressions_read(fcinfo);
	plh_leak_check_run(text_to_cstring(PG_GETARG_TEXT_PP(0)), iterations,
					   warmup, !plh_sql_access_sees_all(), &check);

	suppressed = put_leaks(&check, iterations, suppressions, &sink);
	if (suppressed > 0)
		ereport(NOTICE,
				(errmsg_plural("%d leaking call site is suppressed",
							   "%d leaking call sites are suppressed",
							   suppressed, suppressed),
				 errhint("See pg_leakhunt_suppressions.")));
	report_malloc(check.malloc_bytes);
	return (Datum) 0;
}
