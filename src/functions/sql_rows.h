/*
 * sql_rows.h
 *	  What functions that return rows about processes have in common: who may
 *	  see what, and columns of each type.
 *
 * plh_sql_rows_start comes first, or plh_sql_rows_start_silently.  Then each row is a
 * PlhRow of zeros, to which its columns are put in order, and finished.
 */
#ifndef PLH_SQL_ROWS_H
#define PLH_SQL_ROWS_H

#include "fmgr.h"
#include "funcapi.h"

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "report/stack_text.h"
#include "symbols/symbols.h"
#include "verdict/suppression.h"

/* What a call collects rows for. */
typedef struct PlhRowSink
{
	ReturnSetInfo *result;
	bool		sees_all;		/* privileges of pg_read_all_stats */
	bool		with_stacks;
	bool		found;			/* a profile that the caller may see */
	PlhSymbols *symbols;		/* opened when first needed */
	MemoryContext symbols_context;	/* for them, as long as the call */
	PlhSuppressions *suppressions;	/* that sites are compared with */
	PlhBaseline *baseline;		/* of the process at hand; NULL if none */
} PlhRowSink;

/* A row in the making. */
typedef struct PlhRow
{
	int			column;
	Datum		values[40];
	bool		nulls[40];
} PlhRow;

extern void plh_sql_rows_check_active(void);
extern void plh_sql_rows_start_silently(FunctionCallInfo fcinfo, PlhRowSink *sink);
extern bool plh_sql_rows_start(FunctionCallInfo fcinfo, PlhRowSink *sink);
extern bool plh_sql_rows_may_see_all(void);
extern bool plh_sql_rows_may_see_role(Oid role);
extern bool plh_sql_rows_may_show(const PlhRowSink *sink,
							  const PlhProfileHeader *header);
extern void plh_sql_rows_put_datum(PlhRow *row, Datum value);
extern void plh_sql_rows_put_null(PlhRow *row);
extern void plh_sql_rows_put_nulls(PlhRow *row, int count);
extern void plh_sql_rows_put_int64(PlhRow *row, int64 value);
extern void plh_sql_rows_put_text(PlhRow *row, const char *text);
extern void plh_sql_rows_put_time(PlhRow *row, TimestampTz time);
extern void plh_sql_rows_put_foreign_text(PlhRow *row, const PlhProfileImage *image,
								 const char *text, Size bytes);
extern void plh_sql_rows_put_backend_type(PlhRow *row, const PlhProfileImage *image);
extern PlhStackText *plh_sql_rows_stack(PlhRowSink *sink,
									const PlhProfileImage *image,
									const PlhSiteRecord *site);
extern void plh_sql_rows_put_site(PlhRow *row, const PlhSiteRecord *site,
						 const PlhStackText *stack);
extern void plh_sql_rows_finish(PlhRow *row, PlhRowSink *sink);

#endif							/* PLH_SQL_ROWS_H */
