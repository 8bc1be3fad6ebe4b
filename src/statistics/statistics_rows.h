/*
 * statistics_rows.h
 *	  Rows of pg_backend_memory_contexts or pg_get_process_memory_contexts, as psql and other
 *	  clients print them: aligned, unaligned, with tabs, as CSV, or expanded.
 *
 * Nothing here allocates or throws.
 */
#pragma once

#include "statistics/statistics.h"

/* The columns that count. */
typedef enum PlhRowColumn
{
	PLH_ROW_NAME,
	PLH_ROW_IDENT,
	PLH_ROW_PARENT,				/* until 17 */
	PLH_ROW_LEVEL,
	PLH_ROW_PATH,				/* from 18 on */
	PLH_ROW_TOTAL,
	PLH_ROW_BLOCKS,
	PLH_ROW_FREE,
	PLH_ROW_CONTEXTS,			/* that the row adds up */
#define PLH_ROW_COLUMNS (PLH_ROW_CONTEXTS + 1)
} PlhRowColumn;

#define PLH_ROW_FIELDS 32
#define PLH_ROW_PATHS 4096
#define PLH_ROW_ROOM 4096

typedef struct PlhStatisticsRows
{
	bool		is_active;		/* a head was read, and rows may follow */
	bool		is_expanded;	/* each field has a line */
	char		separator;
	int			count;			/* of columns in the head */
	int			columns[PLH_ROW_COLUMNS];	/* index of each; -1: not there */
	bool		in_quotes;		/* a field of CSV goes on in the next line */
	Size		used;
	char		row[PLH_ROW_ROOM];	/* of CSV, or of an expanded row, so far */
	bool		has_field[PLH_ROW_COLUMNS]; /* of an expanded row */
	PlhTextSpan fields[PLH_ROW_COLUMNS];	/* of the last row */
	int16		by_path[PLH_ROW_PATHS]; /* the name of each context by its
										 * number in paths, plus 1 */
} PlhStatisticsRows;

typedef enum PlhRowsAnswer
{
	PLH_ROWS_NOT,				/* the line has nothing to do with rows */
	PLH_ROWS_HEAD,				/* a head: other statistics begin */
	PLH_ROWS_PART,				/* it belongs to rows, but ends none */
	PLH_ROWS_ROW,				/* a row has ended, and is in "fields" */
	PLH_ROWS_END				/* there are no further rows */
} PlhRowsAnswer;

extern PlhRowsAnswer plh_statistics_rows_take(PlhStatisticsRows *rows, PlhTextSpan line);

/* The text ends: is there a row that nothing else has ended? */
extern bool plh_statistics_rows_end(PlhStatisticsRows *rows);

/* Add the last row. */
extern void plh_statistics_rows_add(PlhStatisticsRows *rows, PlhStatistics *statistics);
