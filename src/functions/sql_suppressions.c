/*
 * sql_suppressions.c
 *	  The suppressions that a function of SQL heeds.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "functions/sql_suppressions.h"
#include "telling/suppression_table.h"

/*
 * All suppressions, in the current memory context, for a function of the extension that is called
 * with fcinfo: the table has the schema of the functions.
 */
PlhSuppressions *
plh_sql_suppressions_read(FunctionCallInfo fcinfo)
{
	Oid			schema = get_func_namespace(fcinfo->flinfo->fn_oid);

	return plh_suppression_table_read(get_namespace_name(schema));
}
