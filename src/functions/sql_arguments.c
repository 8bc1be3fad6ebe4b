/*
 * sql_arguments.c
 *	  Arguments of functions of SQL, by their numbers.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"

/* The longest duration. */
#define MAX_DURATION_DAYS 3650

bool
plh_sql_arguments_flag(FunctionCallInfo fcinfo, int number)
{
	return !PG_ARGISNULL(number) && PG_GETARG_BOOL(number);
}

char *
plh_sql_arguments_text(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(number));
}

char *
plh_sql_arguments_required_text(FunctionCallInfo fcinfo, int number, const char *name)
{
	plh_sql_rows_check_not_null(fcinfo, number, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(number));
}

bool
plh_sql_arguments_required_flag(FunctionCallInfo fcinfo, int number, const char *name)
{
	plh_sql_rows_check_not_null(fcinfo, number, name);
	return PG_GETARG_BOOL(number);
}

int
plh_sql_arguments_limit(FunctionCallInfo fcinfo, int number, const char *name, int least)
{
	int			limit;

	if (PG_ARGISNULL(number))
		return 0;
	limit = PG_GETARG_INT32(number);
	if (limit < least)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be at least %d", name, least),
						errhint("Use null for no limit.")));
	return limit;
}

int64
plh_sql_arguments_duration(FunctionCallInfo fcinfo, int number, const char *name)
{
	Interval   *duration;
	int64		days;
	int64		duration_us;

	if (PG_ARGISNULL(number))
		return 0;
	duration = PG_GETARG_INTERVAL_P(number);
	days = (int64) duration->month * DAYS_PER_MONTH + duration->day;
	if (pg_mul_s64_overflow(days, USECS_PER_DAY, &duration_us) ||
		pg_add_s64_overflow(duration_us, duration->time, &duration_us) ||
		duration_us <= 0 || duration_us > MAX_DURATION_DAYS * USECS_PER_DAY)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s is out of range", name),
						errdetail("It must be greater than zero and at most %d days.",
								  MAX_DURATION_DAYS)));
	return duration_us;
}

/* All names, as in a sentence. */
static char *
list_names(PlhSqlName name_of)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; name_of(i) != NULL; i++)
		appendStringInfo(&list, "%s%s", i == 0 ? "" :
						 name_of(i + 1) == NULL ? " and " : ", ", name_of(i));
	return list.data;
}

/* The bit that a name stands for. */
static int
bit_of_name(const char *name, const char *what, PlhSqlName name_of)
{
	for (int i = 0; name_of(i) != NULL; i++)
	{
		if (strcmp(name_of(i), name) == 0)
			return 1 << i;
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized %s \"%s\"", what, name),
					errhint("Valid values are %s.", list_names(name_of))));
}

int
plh_sql_arguments_names(FunctionCallInfo fcinfo, int number, const char *what, PlhSqlName name_of)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(number);
	Datum	   *names;
	int			count;
	int			bits = 0;

	if (array_contains_nulls(array))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%ss must not contain null", what)));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &count);
	for (int i = 0; i < count; i++)
		bits |= bit_of_name(TextDatumGetCString(names[i]), what, name_of);
	return bits;
}
