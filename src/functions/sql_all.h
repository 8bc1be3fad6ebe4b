/*
 * sql_all.h
 *	  The call sites of all processes that the caller may see, merged, for
 *	  functions of SQL that show a source.
 */
#ifndef PLH_SQL_ALL_H
#define PLH_SQL_ALL_H

#include "functions/sql_source.h"

/*
 * Without any process it is NULL, or an empty list if the source may be empty, after a
 * WARNING; an ERROR if processes are required.
 */
extern PlhSiteList *plh_sql_all_sites(const PlhSource *source,
									  PlhSymbols *symbols);

#endif							/* PLH_SQL_ALL_H */
