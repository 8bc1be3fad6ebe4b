/*
 * suppression_table.c
 *	  Reads the table pg_leakhunt_suppressions of a database.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"

#include "telling/suppression_table.h"

/* The schema of the extension, whatever the search path is. */
static const char schema_query[] =
"SELECT n.nspname FROM pg_catalog.pg_extension e"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
" WHERE e.extname OPERATOR(pg_catalog.=) 'pg_leakhunt'";

/* Copy a column of a row of SPI's to a memory context; NULL if it is null. */
static char *
copy_column(HeapTuple row, int column, MemoryContext memory)
{
	char	   *value = SPI_getvalue(row, SPI_tuptable->tupdesc, column);

	return value == NULL ? NULL : MemoryContextStrdup(memory, value);
}

static void
execute(const char *query)
{
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_leakhunt_suppressions");
}

PlhSuppressions *
plh_suppression_table_read(const char *schema)
{
	MemoryContext memory = CurrentMemoryContext;
	PlhSuppressions *suppressions = palloc0(sizeof(PlhSuppressions));
	const char *query =
		psprintf("SELECT pattern, reason FROM %s ORDER BY pattern COLLATE pg_catalog.\"C\"",
				 quote_qualified_identifier(schema, "pg_leakhunt_suppressions"));

	SPI_connect();
	execute(query);
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

PlhSuppressions *
plh_suppression_table_find(void)
{
	MemoryContext memory = CurrentMemoryContext;
	char	   *schema = NULL;

	SPI_connect();
	execute(schema_query);
	if (SPI_processed > 0)
		schema = copy_column(SPI_tuptable->vals[0], 1, memory);
	SPI_finish();
	return schema == NULL ? palloc0(sizeof(PlhSuppressions)) : plh_suppression_table_read(schema);
}
