/*
 * sql_check.c
 *	  The function of SQL that tests a statement for leaks.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_rows.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "verdict/leak_check.h"
#include "verdict/suppression.h"

PLH_FUNCTION(pg_leakhunt_get_leaks);

/* An argument that must not be null. */
static void
check_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/* An argument that counts executions. */
static int
get_count(FunctionCallInfo fcinfo, int number, const char *name, int least)
{
	int			count;

	check_argument(fcinfo, number, name);
	count = PG_GETARG_INT32(number);
	if (count < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least %d", name, least)));
	return count;
}

/*
 * The stack of a leak as far as it is the statement's: neither should a pattern
 * that matches the caller of the check suppress everything.
 */
static PlhStackText *
stack_of_statement(PlhRowSink *sink, const PlhProfileImage *image,
				   const PlhSiteRecord *site)
{
	PlhStackText *stack = plh_sql_rows_stack(sink, image, site);

	for (int i = 0; stack != NULL && i < stack->frame_count; i++)
	{
		const char *module = stack->frames[i].module;

		if (module != NULL && strstr(module, "/pg_leakhunt.so") != NULL)
			stack->frame_count = i;
	}
	return stack;
}

/* The columns site and stack of contexts as such. */
static void
put_contexts(PlhRow *row)
{
	plh_sql_rows_put_text(row, "[memory contexts]");
	plh_sql_rows_put_null(row);
}

/* One row, if it is a leak.  Returns whether it is suppressed. */
static bool
put_leak(const PlhProfileImage *image, const PlhLeak *leak, int iterations,
		 PlhRowSink *sink)
{
	const PlhStringRecord *context =
		plh_profile_image_string(image, leak->site != NULL ?
								  leak->site->key.context_name :
								  leak->contexts->context_name);
	PlhStackText *stack = leak->site == NULL ? NULL :
		stack_of_statement(sink, image, leak->site);
	PlhRow		row = {0};

	if (stack != NULL && plh_leak_check_is_core_cache(stack))
		return false;
	if (plh_suppression_find(sink->suppressions,
							 context != NULL ? context->text : NULL,
							 stack) != NULL)
		return true;
	plh_sql_rows_put_datum(&row, Float8GetDatum((double) leak->bytes / iterations));
	plh_sql_rows_put_datum(&row, Float8GetDatum((double) leak->count / iterations));
	if (context != NULL)
		plh_sql_rows_put_foreign_text(&row, image, context->text, context->text_bytes);
	else
		plh_sql_rows_put_null(&row);
	if (leak->site != NULL)
		plh_sql_rows_put_site(&row, leak->site, stack);
	else
		put_contexts(&row);
	plh_sql_rows_finish(&row, sink);
	return false;
}

/*
 * pg_leakhunt_get_leaks(query, iterations, warmup, suppressions): the rows of
 * pg_leakhunt_check.
 */
Datum
pg_leakhunt_get_leaks(PG_FUNCTION_ARGS)
{
	int			iterations = get_count(fcinfo, 1, "iterations", 2);
	int			warmup = get_count(fcinfo, 2, "warmup", 0);
	int			suppressed = 0;
	PlhLeakCheck check;
	PlhProfileImage *image;
	PlhRowSink	sink;

	check_argument(fcinfo, 0, "query");
	plh_sql_rows_check_active();
	plh_sql_rows_start_silently(fcinfo, &sink);
	sink.with_stacks = true;
	sink.suppressions = plh_suppression_list(PG_ARGISNULL(3) ? NULL :
											 PG_GETARG_ARRAYTYPE_P(3));
	plh_leak_check_run(text_to_cstring(PG_GETARG_TEXT_PP(0)), iterations,
					   warmup, &check);

	image = check.leak_count > 0 ? plh_profile_image_own(plh_profile) : NULL;
	for (int i = 0; i < check.leak_count; i++)
		suppressed += put_leak(image, &check.leaks[i], iterations, &sink);
	if (suppressed > 0)
		ereport(NOTICE,
				(errmsg_plural("%d leaking call site is suppressed",
							   "%d leaking call sites are suppressed",
							   suppressed, suppressed),
				 errhint("See pg_leakhunt_suppressions.")));
	return (Datum) 0;
}
