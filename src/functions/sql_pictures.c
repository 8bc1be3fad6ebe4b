/*
 * sql_pictures.c
 *	  The functions of SQL that turn call sites into tables, pictures and profiles for pprof.
 *
 * Each comes in the two forms of sql_source.h.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "pprof/pprof.h"
#include "report/flamegraph.h"
#include "report/listed_site.h"
#include "report/top.h"

PLH_FUNCTION(pg_leakhunt_top);
PLH_FUNCTION(pg_leakhunt_folded);
PLH_FUNCTION(pg_leakhunt_flamegraph);
PLH_FUNCTION(pg_leakhunt_pprof);

/* The kind of sum that an argument asks for. */
static PlhTopKind
get_kind(FunctionCallInfo fcinfo, int number)
{
	const char *name = plh_sql_arguments_required_text(fcinfo, number, "sums_by");

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
	const char *name = plh_sql_arguments_required_text(fcinfo, number, "frames");

	if (strcmp(name, "sql") != 0 && strcmp(name, "all") != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there are no frames \"%s\"", name),
						errhint("Frames are all, or sql for those of functions in SQL and procedural languages only.")));
	return strcmp(name, "sql") == 0;
}

/* The text of what the arguments name. */
static Datum
return_text(FunctionCallInfo fcinfo, AppendList append)
{
	PlhSource	source = plh_sql_source_of_arguments(fcinfo, 8, 1);
	bool		only_routines = wants_routines(fcinfo, 6);
	PlhSiteList *list;
	StringInfoData output;

	source.queries = plh_sql_arguments_flag(fcinfo, 5);
	plh_sql_source_check_target(&source.target);
	initStringInfo(&output);
	list = plh_sql_source_sites(&source);
	if (list == NULL)
		PG_RETURN_NULL();
	if (only_routines)
		plh_site_list_keep_routines(list);
	append(&output, list, plh_sql_arguments_flag(fcinfo, 4), source.queries);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

static Datum
return_folded(FunctionCallInfo fcinfo)
{
	return return_text(fcinfo, plh_flamegraph_append_folded);
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
	return plh_sql_rows_redacted(fcinfo, return_folded);
}

/*
 * pg_leakhunt_flamegraph: an SVG, with the same arguments.
 */
Datum
pg_leakhunt_flamegraph(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, return_flamegraph);
}

/* The numbers of pg_leakhunt_pprof's arguments; "base" and "peak" follow "growth". */
enum
{
	GROWTH = 1, TYPES = GROWTH + 3, LABELS, SYMBOLIZE, HELPERS, MAX_SAMPLES, MAX_BYTES,
	REDACT, ARGUMENTS
};

/*
 * What is shown where nothing is asked for: of growth, only what is in use has a baseline.
 */
static int
default_types(const PlhSource *source)
{
	if (source->peak)
		return PLH_PPROF_PEAK;
	if (source->growth || source->base != NULL)
		return PLH_PPROF_INUSE;
	return PLH_PPROF_ALLOC | PLH_PPROF_INUSE;
}

/* Throw an ERROR for types that are not to be had with the other arguments. */
static void
check_types(int types, const PlhSource *source)
{
	if (types == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("types must not be empty"),
						errhint("Use null for the default types.")));
	if (source->peak && types != PLH_PPROF_PEAK)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot show the peak and other types at once"),
						errhint("Name all of them in types, without peak.")));
	if ((source->growth || source->base != NULL) && (types & PLH_PPROF_ALLOC))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot show growth of type \"%s\"", "alloc"),
						errhint("Growth is known only of memory in use.")));
}

static int
get_types(FunctionCallInfo fcinfo, int number, const PlhSource *source)
{
	int			types;

	if (PG_ARGISNULL(number))
		return default_types(source);
	types = plh_sql_arguments_names(fcinfo, number, "type", plh_pprof_samples_type_name);
	check_types(types, source);
	return types;
}

/* What "labels" asks for, and by what processes must be told apart for that. */
static int
get_labels(FunctionCallInfo fcinfo, int number, PlhSource *source)
{
	int			labels;

	plh_sql_rows_check_not_null(fcinfo, number, "labels");
	labels = plh_sql_arguments_names(fcinfo, number, "label", plh_pprof_samples_label_name);
	for (PlhPprofLabel label = 0; label < PLH_PPROF_LABELS; label++)
	{
		if (labels & 1 << label)
			source->owner_parts |= plh_pprof_samples_label_owner_part(label);
	}
	return labels;
}

static void
get_options(PlhPprofOptions *options, FunctionCallInfo fcinfo, PlhSource *source)
{
	options->types = get_types(fcinfo, TYPES, source);
	options->labels = get_labels(fcinfo, LABELS, source);
	options->symbolize = plh_sql_arguments_required_flag(fcinfo, SYMBOLIZE, "symbolize");
	options->helpers = plh_sql_arguments_required_flag(fcinfo, HELPERS, "helpers");
	options->max_samples = plh_sql_arguments_limit(fcinfo, MAX_SAMPLES, "max_samples", 1);
	options->max_bytes =
		plh_sql_arguments_limit(fcinfo, MAX_BYTES, "max_bytes", PLH_PPROF_MIN_BYTES);
}

static Datum
return_profile(FunctionCallInfo fcinfo)
{
	PlhSource	source = plh_sql_source_of_arguments(fcinfo, ARGUMENTS, GROWTH);
	PlhPprofOptions options;
	PlhSiteList *list;
	StringInfoData output;

	get_options(&options, fcinfo, &source);

	/* a sample has its peak beside its other values, and the time is now */
	source.peak = (options.types & PLH_PPROF_PEAK) != 0;
	source.keeps_values = true;
	source.unnamed = !options.symbolize && options.helpers;
	source.may_be_empty = source.target.all;
	plh_sql_source_check_target(&source.target);
	list = plh_sql_source_sites(&source);
	if (list == NULL)
		PG_RETURN_NULL();
	initStringInfo(&output);
	plh_pprof_append(&output, list, &options);
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(output.data, output.len));
}

/*
 * pg_leakhunt_pprof(target, growth, base, peak, types, labels, symbolize, helpers, max_samples,
 * max_bytes, redact).  Before any process was sampled, that of all has no samples.
 */
Datum
pg_leakhunt_pprof(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, return_profile);
}
