/*
 * sql_pictures.c
 *	  The functions of SQL that turn call sites into tables and pictures.
 *
 * Each comes in three forms: of a process, whose growth since the baseline may
 * be wanted, of all processes together, likewise, and of a dump, with another
 * dump that growth is counted from.  The last argument asks for what was held at
 * the peak.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "report/flamegraph.h"
#include "report/folded.h"
#include "report/listed_site.h"
#include "report/top.h"

#define TOP_COLUMNS 7

PLH_FUNCTION(pg_leakhunt_top_of_process);
PLH_FUNCTION(pg_leakhunt_top_of_all);
PLH_FUNCTION(pg_leakhunt_top_of_file);
PLH_FUNCTION(pg_leakhunt_folded_of_process);
PLH_FUNCTION(pg_leakhunt_folded_of_all);
PLH_FUNCTION(pg_leakhunt_folded_of_file);
PLH_FUNCTION(pg_leakhunt_flamegraph_of_process);
PLH_FUNCTION(pg_leakhunt_flamegraph_of_all);
PLH_FUNCTION(pg_leakhunt_flamegraph_of_file);

/*
 * The process that argument 0 names; the number of the flag "growth" is given, and how
 * many arguments there are, of which "peak" is the last.
 */
static PlhSource
source_of_process(FunctionCallInfo fcinfo, int growth, int arguments)
{
	plh_sql_rows_check_arguments(fcinfo, arguments);
	return plh_sql_source_of_process(fcinfo, growth, arguments - 1);
}

/* All processes, likewise. */
static PlhSource
source_of_all(FunctionCallInfo fcinfo, int growth, int arguments)
{
	plh_sql_rows_check_arguments(fcinfo, arguments);
	return plh_sql_source_of_all(fcinfo, growth, arguments - 1);
}

/* The dump that argument 0 names, and its base, likewise. */
static PlhSource
source_of_file(FunctionCallInfo fcinfo, int base, int arguments)
{
	plh_sql_rows_check_arguments(fcinfo, arguments);
	return plh_sql_source_of_file(fcinfo, base, arguments - 1);
}

/* The sites of a source whose result goes into a file. */
static PlhSiteList *
get_required_sites(PlhSource source)
{
	source.required = true;
	return plh_sql_source_sites(&source);
}

/* The kind of sum that an argument asks for. */
static PlhTopKind
get_kind(FunctionCallInfo fcinfo, int number)
{
	char	   *name;

	plh_sql_rows_check_not_null(fcinfo, number, "sums_by");
	name = plh_sql_arguments_text(fcinfo, number);
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
		plh_sql_rows_put_datum(row,
							   Float8GetDatum(rint(10000.0 * part / whole) / 100));
}

/* A number of chunks, which is not known at the peak. */
static void
put_count(PlhRow *row, int64 count, const PlhSiteList *list)
{
	if (list->peak)
		plh_sql_rows_put_null(row);
	else
		plh_sql_rows_put_int64(row, count);
}

static void
put_top(const PlhTopRow *top, int64 total, const PlhSiteList *list,
		PlhRowSink *sink)
{
	PlhRow		row = {0};

	plh_sql_rows_put_text(&row, top->name);
	plh_sql_rows_put_int64(&row, top->flat_bytes);
	put_percent(&row, top->flat_bytes, total);
	put_count(&row, top->flat_count, list);
	plh_sql_rows_put_int64(&row, top->cum_bytes);
	put_percent(&row, top->cum_bytes, total);
	put_count(&row, top->cum_count, list);
	plh_sql_rows_finish(&row, sink);
}

/* The rows of pg_leakhunt_top. */
static Datum
return_top(FunctionCallInfo fcinfo, const PlhSource *source, PlhTopKind kind)
{
	PlhSiteList *list;
	PlhTopRow **rows;
	PlhRowSink	sink;
	int64		total = 0;
	int			count;

	plh_sql_rows_start_silently(fcinfo, &sink, TOP_COLUMNS);
	list = plh_sql_source_sites(source);
	if (list == NULL)
		return (Datum) 0;
	for (int i = 0; i < list->count; i++)
		total += plh_listed_site_bytes(&list->sites[i]);
	rows = plh_top_make(list, kind, &count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_top(rows[i], total, list, &sink);
	}
	return (Datum) 0;
}

/*
 * pg_leakhunt_top(pid, sums_by, growth, peak)
 */
Datum
pg_leakhunt_top_of_process(PG_FUNCTION_ARGS)
{
	PlhSource	source = source_of_process(fcinfo, 2, 4);

	return return_top(fcinfo, &source, get_kind(fcinfo, 1));
}

/*
 * pg_leakhunt_top_all(sums_by, growth, peak)
 */
Datum
pg_leakhunt_top_of_all(PG_FUNCTION_ARGS)
{
	PlhSource	source = source_of_all(fcinfo, 1, 3);

	return return_top(fcinfo, &source, get_kind(fcinfo, 0));
}

/*
 * pg_leakhunt_top(file, sums_by, base, peak)
 */
Datum
pg_leakhunt_top_of_file(PG_FUNCTION_ARGS)
{
	PlhSource	source = source_of_file(fcinfo, 2, 4);

	return return_top(fcinfo, &source, get_kind(fcinfo, 1));
}

/* A function that appends a list as text, with two levels above the stacks. */
typedef void (*AppendList) (StringInfo output, const PlhSiteList *list,
							bool with_context, bool with_query);

/*
 * A list as text; the number of the flag "context" is given, and "query" is the
 * next one.
 */
static Datum
return_text(FunctionCallInfo fcinfo, PlhSource source, AppendList append,
			int context)
{
	StringInfoData output;

	source.queries = plh_sql_arguments_flag(fcinfo, context + 1);
	initStringInfo(&output);
	append(&output, get_required_sites(source), plh_sql_arguments_flag(fcinfo, context),
		   source.queries);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

/*
 * pg_leakhunt_folded(pid, growth, context, query, peak)
 */
Datum
pg_leakhunt_folded_of_process(PG_FUNCTION_ARGS)
{
	return return_text(fcinfo, source_of_process(fcinfo, 1, 5),
					   plh_folded_append, 2);
}

/*
 * pg_leakhunt_folded_all(growth, context, query, peak)
 */
Datum
pg_leakhunt_folded_of_all(PG_FUNCTION_ARGS)
{
	return return_text(fcinfo, source_of_all(fcinfo, 0, 4),
					   plh_folded_append, 1);
}

/*
 * pg_leakhunt_folded(file, base, context, query, peak)
 */
Datum
pg_leakhunt_folded_of_file(PG_FUNCTION_ARGS)
{
	return return_text(fcinfo, source_of_file(fcinfo, 1, 5),
					   plh_folded_append, 2);
}

/*
 * pg_leakhunt_flamegraph(pid, growth, context, query, peak): an SVG.
 */
Datum
pg_leakhunt_flamegraph_of_process(PG_FUNCTION_ARGS)
{
	return return_text(fcinfo, source_of_process(fcinfo, 1, 5),
					   plh_flamegraph_append, 2);
}

/*
 * pg_leakhunt_flamegraph_all(growth, context, query, peak): an SVG.
 */
Datum
pg_leakhunt_flamegraph_of_all(PG_FUNCTION_ARGS)
{
	return return_text(fcinfo, source_of_all(fcinfo, 0, 4),
					   plh_flamegraph_append, 1);
}

/*
 * pg_leakhunt_flamegraph(file, base, context, query, peak): an SVG.
 */
Datum
pg_leakhunt_flamegraph_of_file(PG_FUNCTION_ARGS)
{
	return return_text(fcinfo, source_of_file(fcinfo, 1, 5),
					   plh_flamegraph_append, 2);
}
