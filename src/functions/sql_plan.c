/*
 * sql_plan.c
 *	  The function of SQL that explains a statement with what each node of its plan held.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "plan/explained_query.h"

PLH_FUNCTION(pg_leakhunt_explain_analyze);

/*
 * pg_leakhunt_explain_analyze(query, options)
 */
Datum
pg_leakhunt_explain_analyze(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *rows;
	ListCell   *cell;

	plh_sql_rows_check_arguments(fcinfo, 2);
	plh_sql_rows_check_not_null(fcinfo, 0, "query");
	plh_sql_rows_check_not_null(fcinfo, 1, "options");
	plh_sql_source_check_active();
	PLH_INIT_MATERIALIZED(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	rows = plh_explained_query_run(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								   text_to_cstring(PG_GETARG_TEXT_PP(1)));
	foreach(cell, rows)
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));
		bool		is_null = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &is_null);
	}
	return (Datum) 0;
}
