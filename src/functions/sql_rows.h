/*
 * sql_rows.h
 *	  The shared part of functions that return rows about processes: how they
 *	  begin, and columns of each type.
 *
 * plh_sql_rows_start comes first.  Each row then
 * begins as a PlhRow of zeros, gets its columns in order, and is finished.
 */
#ifndef PLH_SQL_ROWS_H
#define PLH_SQL_ROWS_H

#include "fmgr.h"
#include "funcapi.h"

#include "reader/server_activity.h"
#include "report/listed_site.h"
#include "symbols/symbols.h"

/* The most columns that a function returns. */
#define PLH_MAX_COLUMNS 40

/* The rows that a call collects, and what it needs for them. */
typedef struct PlhRowSink
{
	ReturnSetInfo *result;
	bool		sees_all;		/* privileges of pg_read_all_stats */
	PlhSymbols *symbols;		/* opened when first needed */
	MemoryContext memory;		/* that lasts as long as the call */
	bool		names_are_told; /* one row says how to get missing names */
} PlhRowSink;

/* A row that columns are put to. */
typedef struct PlhRow
{
	int			column;
	Datum		values[PLH_MAX_COLUMNS];
	bool		nulls[PLH_MAX_COLUMNS];
} PlhRow;

extern void plh_sql_rows_check_arguments(FunctionCallInfo fcinfo, int count);
extern void plh_sql_rows_check_not_null(FunctionCallInfo fcinfo, int number,
										const char *name);
extern int	plh_sql_rows_get_pid(FunctionCallInfo fcinfo, int number);
extern void plh_sql_rows_start(FunctionCallInfo fcinfo, PlhRowSink *sink,
							   int columns);
extern PlhSymbols *plh_sql_rows_symbols(PlhRowSink *sink);
extern void plh_sql_rows_finish(PlhRow *row, PlhRowSink *sink);

extern void plh_sql_rows_put_datum(PlhRow *row, Datum value);
extern void plh_sql_rows_put_null(PlhRow *row);
extern void plh_sql_rows_put_nulls(PlhRow *row, int count);
extern void plh_sql_rows_put_pid(PlhRow *row, int pid);
extern void plh_sql_rows_put_int64(PlhRow *row, int64 value);
extern void plh_sql_rows_put_if(PlhRow *row, bool is_known, int64 value);
extern void plh_sql_rows_put_text(PlhRow *row, const char *text);
extern void plh_sql_rows_put_texts(PlhRow *row, char *const *texts, int count);
extern void plh_sql_rows_put_time(PlhRow *row, TimestampTz time);
extern void plh_sql_rows_put_foreign_text(PlhRow *row,
										  const PlhProfileImage *image,
										  const char *text, Size bytes);
extern void plh_sql_rows_put_backend_type(PlhRow *row,
										  const PlhProfileImage *image);
extern const char *plh_sql_rows_unprofiled_type(int pid,
												const PlhServerActivity *activity);
extern void plh_sql_rows_put_role(PlhRow *row, Oid role);
extern void plh_sql_rows_put_database(PlhRow *row, Oid database);
extern void plh_sql_rows_put_state(PlhRow *row, const PlhProfileImage *image);
extern void plh_sql_rows_put_application(PlhRow *row,
										 const PlhProfileImage *image);
extern void plh_sql_rows_put_query_id(PlhRow *row, int64 query_id);
extern void plh_sql_rows_put_query(PlhRow *row, const PlhListedSite *listed);
extern void plh_sql_rows_put_survival(PlhRow *row, int64 live_bytes,
									  int64 total_bytes);
extern void plh_sql_rows_put_site(PlhRow *row, const PlhListedSite *listed);
extern void plh_sql_rows_put_frames(PlhRow *row, const PlhListedSite *listed);

#endif							/* PLH_SQL_ROWS_H */
