/*
 * sql_pictures.c
 *	  The functions of SQL that turn call sites into tables and pictures.
 *
 * Each comes in the two forms of sql_source.h.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_redaction.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "report/flamegraph.h"
#include "report/folded.h"
#include "report/listed_site.h"
#include "report/routine_frames.h"
#include "report/top.h"

PLH_FUNCTION(pg_leakhunt_top);
PLH_FUNCTION(pg_leakhunt_folded);
PLH_FUNCTION(pg_leakhunt_flamegraph);

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
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("cannot sum up by \"%s\"", name),
					errhint("Sums are by function, line, module, context or routine.")));
}

/* A part of the whole, to two decimals. */
static double
percent(int64 part, int64 whole)
{
	return rint(10000.0 * part / whole) / 100;
}

/* One row; numbers of chunks are not known at the peak. */
static void
put_top(const PlhTopRow *top, int64 total, const PlhSiteList *list, PlhRowSink *sink)
{
	PlhRow		row = {0};

#define COLUMN PLH_PUT_COLUMN
#include "functions/columns/top.def"
	plh_sql_rows_finish(&row, sink);
}

/*
 * pg_leakhunt_top(target, sums_by, growth, base, peak)
 */
Datum
pg_leakhunt_top(PG_FUNCTION_ARGS)
{
	PlhSource	source = plh_sql_source_of_arguments(fcinfo, 5, 2);
	PlhTopKind	kind = get_kind(fcinfo, 1);
	PlhSiteList *list;
	PlhTopRow **rows;
	PlhRowSink	sink;
	int64		total = 0;
	int			count;

	plh_sql_rows_start(fcinfo, &sink);
	list = plh_sql_source_sites(&source);
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

/* A function that appends a list as text, with two levels above the stacks. */
typedef void (*AppendList) (StringInfo output, const PlhSiteList *list,
							bool with_context, bool with_query);

/* Does an argument ask for frames of routines alone? */
static bool
wants_routines(FunctionCallInfo fcinfo, int number)
{
	const char *name;

	plh_sql_rows_check_not_null(fcinfo, number, "frames");
	name = plh_sql_arguments_text(fcinfo, number);
	if (strcmp(name, "sql") != 0 && strcmp(name, "all") != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there are no frames \"%s\"", name),
						errhint("Frames are all, or sql for those of functions in SQL and procedural languages only.")));
	return strcmp(name, "sql") == 0;
}

/* The text of what the arguments name, whose result goes into a file. */
static Datum
return_text(FunctionCallInfo fcinfo, AppendList append)
{
	PlhSource	source = plh_sql_source_of_arguments(fcinfo, 8, 1);
	bool		only_routines = wants_routines(fcinfo, 6);
	PlhSiteList *list;
	StringInfoData output;

	source.queries = plh_sql_arguments_flag(fcinfo, 5);
	source.required = true;
	initStringInfo(&output);
	list = plh_sql_source_sites(&source);
	if (only_routines)
		plh_routine_frames_keep(list);
	append(&output, list, plh_sql_arguments_flag(fcinfo, 4), source.queries);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

static Datum
return_folded(FunctionCallInfo fcinfo)
{
	return return_text(fcinfo, plh_folded_append);
}

static Datum
return_flamegraph(FunctionCallInfo fcinfo)
{
	return return_text(fcinfo, plh_flamegraph_append);
}

/*
 * pg_leakhunt_folded(target, growth, base, peak, context, query, frames, redact)
 */
Datum
pg_leakhunt_folded(PG_FUNCTION_ARGS)
{
	return plh_sql_redaction_call(fcinfo, return_folded);
}

/*
 * pg_leakhunt_flamegraph: an SVG, with the same arguments.
 */
Datum
pg_leakhunt_flamegraph(PG_FUNCTION_ARGS)
{
	return plh_sql_redaction_call(fcinfo, return_flamegraph);
}
