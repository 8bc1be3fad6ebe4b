/*
 * sql_rows.h
 *	  The shared part of functions of SQL: how they are called, and how they return rows, with
 *	  columns of each type.
 *
 * Of rows, plh_sql_rows_start comes first.  Each row then begins as a PlhRow of zeros, gets its
 * columns from a file of functions/columns, and is finished:
 *
 * 		PlhRow		row = {0};
 *
 * 		#include "functions/columns/report.def"
 * 		plh_sql_rows_finish(&row, sink);
 */
#pragma once

#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/timestamp.h"

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

/* An ERROR unless it was created with that many arguments; for one that must not be null. */
extern void plh_sql_rows_check_arguments(FunctionCallInfo fcinfo, int count);
extern void plh_sql_rows_check_not_null(FunctionCallInfo fcinfo, int number, const char *name);
extern Datum plh_sql_rows_redacted(FunctionCallInfo fcinfo, PGFunction function);
extern void plh_sql_rows_start(FunctionCallInfo fcinfo, PlhRowSink *sink);

/* The symbols that serve the whole call; opened when first asked for. */
extern PlhSymbols *plh_sql_rows_symbols(PlhRowSink *sink);
extern void plh_sql_rows_finish(PlhRow *row, PlhRowSink *sink);

/* What a row of functions/columns puts to "row": null, unless the value is known. */
#define COLUMN(name, type, is_known, value, comment) \
	if (is_known) \
		plh_sql_rows_put_##type(&row, value); \
	else \
		plh_sql_rows_put_null(&row);

#define plh_sql_rows_put_bool(row, value) plh_sql_rows_put_datum(row, BoolGetDatum(value))
#define plh_sql_rows_put_int(row, value) plh_sql_rows_put_datum(row, Int32GetDatum((int32) (value)))
#define plh_sql_rows_put_bigint(row, value) \
	plh_sql_rows_put_datum(row, Int64GetDatum((int64) (value)))
#define plh_sql_rows_put_float8(row, value) plh_sql_rows_put_datum(row, Float8GetDatum(value))
#define plh_sql_rows_put_oid(row, value) plh_sql_rows_put_datum(row, ObjectIdGetDatum(value))
#define plh_sql_rows_put_interval(row, value) plh_sql_rows_put_datum(row, IntervalPGetDatum(value))

extern void plh_sql_rows_put_null(PlhRow *row);
extern void plh_sql_rows_put_datum(PlhRow *row, Datum value);
extern void plh_sql_rows_put_text(PlhRow *row, const char *text);
extern void plh_sql_rows_put_text_array(PlhRow *row, ArrayType *array);
extern void plh_sql_rows_put_timestamptz(PlhRow *row, TimestampTz time);

/* Values of columns that several functions have. */

/* Text that another process wrote, in its database's encoding; NULL where it is empty. */
extern const char *plh_sql_rows_foreign(const char *text, int encoding);
extern const char *plh_sql_rows_backend_type(const PlhProfileImage *image);
extern const char *plh_sql_rows_active_application(const PlhServerActivity *activity);
extern const char *plh_sql_rows_application(const PlhProfileImage *image);
extern const char *plh_sql_rows_unprofiled_type(int pid, const PlhServerActivity *activity);
extern const char *plh_sql_rows_role(Oid role);
extern const char *plh_sql_rows_database(Oid database);
extern const char *plh_sql_rows_state(const PlhProfileImage *image);
extern double plh_sql_rows_survival(int64 live_bytes, int64 total_bytes);
extern ArrayType *plh_sql_rows_texts(char *const *texts, int count);
extern ArrayType *plh_sql_rows_frames(const PlhListedSite *listed);
