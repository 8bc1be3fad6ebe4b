/*
 * sql_caches.c
 *	  The function of SQL that empties the session's caches of the catalogs.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/inval.h"

#include "base/compat.h"
#include "functions/sql_rows.h"

PLH_FUNCTION(pg_leakhunt_reset_caches);

/*
 * pg_leakhunt_reset_caches(): forget what this session has cached of the catalogs.
 *
 * Whoever compares what a session holds at two times calls this before each: what is still held
 * then is no cached catalog row or relation.  It is what the server itself does when a session has
 * missed invalidations, so that caches of extensions which registered a callback are reset, too.
 */
Datum
pg_leakhunt_reset_caches(PG_FUNCTION_ARGS)
{
	plh_sql_rows_check_arguments(fcinfo, 0);
	InvalidateSystemCaches();
	PG_RETURN_VOID();
}
