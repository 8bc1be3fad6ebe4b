/*
 * sql_format.c
 *	  The argument that says whether people read a function's result, or programs.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "functions/sql_format.h"

bool
plh_sql_format_is_json(FunctionCallInfo fcinfo, int number)
{
	const char *format = PG_ARGISNULL(number) ? "text" :
		text_to_cstring(PG_GETARG_TEXT_PP(number));

	if (strcmp(format, "text") == 0)
		return false;
	if (strcmp(format, "json") == 0)
		return true;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized format \"%s\"", format),
					errhint("Valid formats are text and json.")));
	return false;
}
