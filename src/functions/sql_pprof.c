/*
 * sql_pprof.c
 *	  The functions of SQL that make profiles for pprof, and for programs that
 *	  collect such profiles.
 *
 * They have the forms of those in sql_pictures.c, and further arguments in common,
 * which say what the profile is to have.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "report/pprof.h"

/* The arguments that all forms have, by where they stand behind "peak". */
enum
{
	TYPES = 1, LABELS, SYMBOLIZE, HELPERS, MAX_SAMPLES, MAX_BYTES
};

PLH_FUNCTION(pg_leakhunt_pprof_of_process);
PLH_FUNCTION(pg_leakhunt_pprof_of_all);
PLH_FUNCTION(pg_leakhunt_pprof_of_file);

/* PlhSqlName: the name of a label. */
static const char *
label_name(int number)
{
	return plh_pprof_labels_name(number);
}

/*
 * What is shown where nothing is asked for: of growth, only what is in use has a
 * baseline.
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
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("types must not be empty"),
				 errhint("Null stands for the types that are shown by default.")));
	if (source->peak && types != PLH_PPROF_PEAK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot show the peak and other types at once"),
				 errhint("Ask for all of them by types, without peak.")));
	if ((source->growth || source->base != NULL) && (types & PLH_PPROF_ALLOC))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot show growth of type \"%s\"", "alloc"),
				 errhint("Growth is counted of what is in use.")));
}

/* What "types" asks for. */
static int
get_types(FunctionCallInfo fcinfo, int number, const PlhSource *source)
{
	int			types;

	if (PG_ARGISNULL(number))
		return default_types(source);
	types = plh_sql_arguments_names(fcinfo, number, "type",
									plh_pprof_values_type_name);
	check_types(types, source);
	return types;
}

/* What "labels" asks for, and by what processes must be told apart for that. */
static int
get_labels(FunctionCallInfo fcinfo, int number, PlhSource *source)
{
	int			labels;

	plh_sql_rows_check_not_null(fcinfo, number, "labels");
	labels = plh_sql_arguments_names(fcinfo, number, "label", label_name);
	for (PlhPprofLabel label = 0; label < PLH_PPROF_LABELS; label++)
	{
		if (labels & 1 << label)
			source->owner_parts |= plh_pprof_labels_owner_part(label);
	}
	return labels;
}

/* What the arguments behind "peak", whose number is given, ask for. */
static void
get_options(PlhPprofOptions *options, FunctionCallInfo fcinfo, int peak,
			PlhSource *source)
{
	options->types = get_types(fcinfo, peak + TYPES, source);
	options->labels = get_labels(fcinfo, peak + LABELS, source);
	options->symbolize =
		plh_sql_arguments_required_flag(fcinfo, peak + SYMBOLIZE, "symbolize");
	options->helpers =
		plh_sql_arguments_required_flag(fcinfo, peak + HELPERS, "helpers");
	options->max_samples =
		plh_sql_arguments_limit(fcinfo, peak + MAX_SAMPLES, "max_samples", 1);
	options->max_bytes =
		plh_sql_arguments_limit(fcinfo, peak + MAX_BYTES, "max_bytes",
								PLH_PPROF_MIN_BYTES);
}

/* Make the profile of a source; the number of the argument "peak" is given. */
static Datum
return_pprof(FunctionCallInfo fcinfo, PlhSource source, int peak)
{
	PlhPprofOptions options;
	StringInfoData output;

	get_options(&options, fcinfo, peak, &source);

	/* a sample has its peak beside its other values, and the time is now */
	source.peak = (options.types & PLH_PPROF_PEAK) != 0;
	source.keeps_values = true;
	source.unnamed = !options.symbolize && options.helpers;
	source.required = true;
	initStringInfo(&output);
	plh_pprof_append(&output, plh_sql_source_sites(&source), &options);
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(output.data,
														 output.len));
}

/*
 * pg_leakhunt_pprof(pid, growth, peak, types, labels, symbolize, helpers,
 * max_samples, max_bytes)
 */
Datum
pg_leakhunt_pprof_of_process(PG_FUNCTION_ARGS)
{
	plh_sql_rows_check_arguments(fcinfo, 2 + MAX_BYTES + 1);
	return return_pprof(fcinfo, plh_sql_source_of_process(fcinfo, 1, 2), 2);
}

/*
 * pg_leakhunt_pprof_all(growth, peak, types, ...), and pg_leakhunt_pprof with the
 * same arguments.  What nobody has sampled yet is a profile without samples.
 */
Datum
pg_leakhunt_pprof_of_all(PG_FUNCTION_ARGS)
{
	PlhSource	source;

	plh_sql_rows_check_arguments(fcinfo, 1 + MAX_BYTES + 1);
	source = plh_sql_source_of_all(fcinfo, 0, 1);
	source.may_be_empty = true;
	return return_pprof(fcinfo, source, 1);
}

/*
 * pg_leakhunt_pprof(file, base, peak, types, ...)
 */
Datum
pg_leakhunt_pprof_of_file(PG_FUNCTION_ARGS)
{
	plh_sql_rows_check_arguments(fcinfo, 2 + MAX_BYTES + 1);
	return return_pprof(fcinfo, plh_sql_source_of_file(fcinfo, 1, 2), 2);
}
