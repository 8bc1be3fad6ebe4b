/*
 * sql_all.h
 *	  The call sites of all processes that the caller may see, merged, for
 *	  functions of SQL that show a source.
 */
#ifndef PLH_SQL_ALL_H
#define PLH_SQL_ALL_H

#include "functions/sql_source.h"

/* NULL after a WARNING, or an ERROR if they are required. */
extern PlhSiteList *plh_sql_all_sites(const PlhSource *source,
									  PlhSymbols *symbols);

#endif							/* PLH_SQL_ALL_H */
