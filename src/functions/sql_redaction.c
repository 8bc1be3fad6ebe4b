/*
 * sql_redaction.c
 *	  Functions of SQL whose last argument says whether names and literals are left out.
 *
 * Names and statements become text in many places.  So it is said once for the whole call, and
 * taken back when it ends, in whatever way.
 */
#include "postgres.h"

#include "functions/sql_arguments.h"
#include "functions/sql_redaction.h"
#include "reader/redaction.h"

Datum
plh_sql_redaction_call(FunctionCallInfo fcinfo, PGFunction function)
{
	volatile Datum result = (Datum) 0;

	plh_redaction_begin(plh_sql_arguments_flag(fcinfo, PG_NARGS() - 1));
	PG_TRY();
	{
		result = function(fcinfo);
	}
	PG_FINALLY();
	{
		plh_redaction_end();
	}
	PG_END_TRY();
	return result;
}
