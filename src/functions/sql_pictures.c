/*
 * sql_pictures.c
 *	  The functions of SQL that turn call sites into tables, pictures and
 *	  profiles for other tools.
 *
 * Their first four arguments are a PlhSource: pid, file, base, growth.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "report/flamegraph.h"
#include "report/folded.h"
#include "report/pprof.h"
#include "report/top.h"

PLH_FUNCTION(pg_leakhunt_get_top);
PLH_FUNCTION(pg_leakhunt_get_folded);
PLH_FUNCTION(pg_leakhunt_get_flamegraph);
PLH_FUNCTION(pg_leakhunt_get_pprof);

#define SOURCE_ARGUMENTS 4

/* What is asked for; the SQL functions around these see to the rest. */
static PlhSiteList *
get_sites(FunctionCallInfo fcinfo)
{
	PlhSource	source = {0};

	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		return NULL;
	if (!PG_ARGISNULL(0))
	{
		plh_sql_rows_check_active();
		source.pid = PG_GETARG_INT32(0);
	}
	else
		source.file = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (!PG_ARGISNULL(2))
		source.base = text_to_cstring(PG_GETARG_TEXT_PP(2));
	source.growth = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	return plh_sql_source_sites(&source);
}

/* A flag, false if it is null. */
static bool
get_flag(FunctionCallInfo fcinfo, int number)
{
	return !PG_ARGISNULL(number) && PG_GETARG_BOOL(number);
}

/* The kind of sum that is asked for. */
static PlhTopKind
get_kind(FunctionCallInfo fcinfo)
{
	char	   *name;

	if (PG_ARGISNULL(SOURCE_ARGUMENTS))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("sums_by must not be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(SOURCE_ARGUMENTS));
	for (PlhTopKind kind = 0; plh_top_kind_name(kind) != NULL; kind++)
	{
		if (strcmp(plh_top_kind_name(kind), name) == 0)
			return kind;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot sum up by \"%s\"", name),
			 errhint("Sums are by function, line, module or context.")));
}

/* A part of the whole, to two decimals; null where there is no whole. */
static void
put_percent(PlhRow *row, int64 part, int64 whole)
{
	if (whole <= 0)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_datum(row, Float8GetDatum(rint(10000.0 * part / whole) / 100));
}

static void
put_top(const PlhTopRow *top, int64 total, PlhRowSink *sink)
{
	PlhRow		row = {0};

	plh_sql_rows_put_text(&row, top->name);
	plh_sql_rows_put_int64(&row, top->flat_bytes);
	put_percent(&row, top->flat_bytes, total);
	plh_sql_rows_put_int64(&row, top->flat_count);
	plh_sql_rows_put_int64(&row, top->cum_bytes);
	put_percent(&row, top->cum_bytes, total);
	plh_sql_rows_put_int64(&row, top->cum_count);
	plh_sql_rows_finish(&row, sink);
}

/*
 * pg_leakhunt_get_top(pid, file, base, growth, kind): the rows of
 * pg_leakhunt_top.
 */
Datum
pg_leakhunt_get_top(PG_FUNCTION_ARGS)
{
	PlhTopKind	kind = get_kind(fcinfo);
	PlhSiteList *list;
	PlhTopRow **rows;
	PlhRowSink	sink;
	int64		total = 0;
	int			count;

	plh_sql_rows_start_silently(fcinfo, &sink);
	list = get_sites(fcinfo);
	if (list == NULL)
		return (Datum) 0;
	for (int i = 0; i < list->count; i++)
		total += plh_listed_bytes(&list->sites[i]);
	rows = plh_top_make(list, kind, &count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_top(rows[i], total, &sink);
	}
	return (Datum) 0;
}

/*
 * pg_leakhunt_get_folded(pid, file, base, growth, context, query): folded
 * stacks.
 */
Datum
pg_leakhunt_get_folded(PG_FUNCTION_ARGS)
{
	PlhSiteList *list = get_sites(fcinfo);
	StringInfoData output;

	if (list == NULL)
		PG_RETURN_NULL();
	initStringInfo(&output);
	plh_folded_append(&output, list, get_flag(fcinfo, SOURCE_ARGUMENTS),
					  get_flag(fcinfo, SOURCE_ARGUMENTS + 1));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

/*
 * pg_leakhunt_get_flamegraph(pid, file, base, growth, context, query): an SVG.
 */
Datum
pg_leakhunt_get_flamegraph(PG_FUNCTION_ARGS)
{
	PlhSiteList *list = get_sites(fcinfo);
	StringInfoData output;

	if (list == NULL)
		PG_RETURN_NULL();
	initStringInfo(&output);
	plh_flamegraph_append(&output, list, get_flag(fcinfo, SOURCE_ARGUMENTS),
						  get_flag(fcinfo, SOURCE_ARGUMENTS + 1));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

/*
 * pg_leakhunt_get_pprof(pid, file, base, growth): a profile for pprof.
 */
Datum
pg_leakhunt_get_pprof(PG_FUNCTION_ARGS)
{
	PlhSiteList *list = get_sites(fcinfo);
	StringInfoData output;

	if (list == NULL)
		PG_RETURN_NULL();
	initStringInfo(&output);
	plh_pprof_append(&output, list);
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(output.data,
														 output.len));
}
