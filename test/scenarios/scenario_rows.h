/*
 * scenario_rows.h
 *	  Calls functions of SQL, and writes the rows that they return as text.
 *
 * Stands in for what the server does around such a function.
 */
#ifndef SCENARIO_ROWS_H
#define SCENARIO_ROWS_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "scenario_words.h"

/* The types of columns, as src/functions/columns calls them. */
typedef enum ColumnType
{
	SQL_int,
	SQL_bigint,
	SQL_bool,
	SQL_text,
	SQL_timestamptz,
	SQL_float8,
	SQL_interval,
	SQL_oid,
	SQL_text_array
} ColumnType;

typedef struct Column
{
	const char *name;			/* NULL: there are no more */
	ColumnType	type;
} Column;

typedef struct SqlCall
{
	PGFunction	function;
	const Column *columns;
	int			argument_count;
	NullableDatum arguments[4];
	const char *shown;			/* names of the columns that are shown, where
								 * the look names none */
} SqlCall;

/*
 * The rows, a line each, in the order in which they come.  What is left of the words may be
 * "only" and a text that the rows have, and names of the columns to show.
 */
extern const char *scenario_rows_of(const SqlCall *call, Words *words);

#endif							/* SCENARIO_ROWS_H */
