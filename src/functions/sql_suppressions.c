/*
 * sql_suppressions.c
 *	  Reads the table pg_leakhunt_suppressions.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "functions/sql_suppressions.h"

/* The table has the schema of the functions, whatever the search path is. */
static char *
suppressions_query(FunctionCallInfo fcinfo)
{
	Oid			schema = get_func_namespace(fcinfo->flinfo->fn_oid);

	return psprintf("SELECT pattern, reason FROM %s ORDER BY pattern COLLATE \"C\"",
					quote_qualified_identifier(get_namespace_name(schema),
											   "pg_leakhunt_suppressions"));
}

/* Copy a column of a row of SPI's to a memory context; NULL if it is null. */
static const char *
copy_column(HeapTuple row, int column, MemoryContext memory)
{
	char	   *value = SPI_getvalue(row, SPI_tuptable->tupdesc, column);

	return value == NULL ? NULL : MemoryContextStrdup(memory, value);
}

/*
 * All suppressions, in the current memory context, for a function of the
 * extension that is called with fcinfo.
 */
PlhSuppressions *
plh_sql_suppressions_read(FunctionCallInfo fcinfo)
{
	MemoryContext memory = CurrentMemoryContext;
	PlhSuppressions *suppressions = palloc0(sizeof(PlhSuppressions));
	const char *query = suppressions_query(fcinfo);

	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_leakhunt_suppressions");
	suppressions->entries = MemoryContextAlloc(memory, sizeof(PlhSuppression) *
											   Max(SPI_processed, 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];

		plh_suppression_parse(&suppressions->entries[suppressions->count++],
							  copy_column(row, 1, memory),
							  copy_column(row, 2, memory));
	}
	SPI_finish();
	return suppressions;
}
