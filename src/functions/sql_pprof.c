/*
 * sql_pprof.c
 *	  The functions of SQL that make profiles for pprof, and for programs that collect such
 *	  profiles.
 *
 * They have the forms of those in sql_pictures.c, and further arguments in common, which say what
 * the profile is to have.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_redaction.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "pprof/pprof.h"

/* The numbers of the arguments; "base" and "peak" follow "growth". */
enum
{
	GROWTH = 1, TYPES = GROWTH + 3, LABELS, SYMBOLIZE, HELPERS, MAX_SAMPLES, MAX_BYTES,
	REDACT, ARGUMENTS
};

PLH_FUNCTION(pg_leakhunt_pprof);

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

/* What "types" asks for. */
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

/* What the arguments of pprof alone ask for. */
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

/* The profile of what the arguments name. */
static Datum
return_profile(FunctionCallInfo fcinfo)
{
	PlhSource	source = plh_sql_source_of_arguments(fcinfo, ARGUMENTS, GROWTH);
	PlhPprofOptions options;
	StringInfoData output;

	get_options(&options, fcinfo, &source);

	/* a sample has its peak beside its other values, and the time is now */
	source.peak = (options.types & PLH_PPROF_PEAK) != 0;
	source.keeps_values = true;
	source.unnamed = !options.symbolize && options.helpers;
	source.required = true;
	source.may_be_empty = source.target.all;
	initStringInfo(&output);
	plh_pprof_append(&output, plh_sql_source_sites(&source), &options);
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(output.data, output.len));
}

/*
 * pg_leakhunt_pprof(target, growth, base, peak, types, labels, symbolize, helpers, max_samples,
 * max_bytes, redact).  What nobody has sampled yet is a profile without samples, of all processes.
 */
Datum
pg_leakhunt_pprof(PG_FUNCTION_ARGS)
{
	return plh_sql_redaction_call(fcinfo, return_profile);
}
