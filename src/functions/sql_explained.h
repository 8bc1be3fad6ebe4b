/*
 * sql_explained.h
 *	  What is known of a process before it is explained: names, state, sizes.
 *
 * Whoever calls these has looked whether the caller may see the process.
 */
#ifndef PLH_SQL_EXPLAINED_H
#define PLH_SQL_EXPLAINED_H

#include "reader/dump_reader.h"
#include "reader/statement_list.h"
#include "verdict/explained_process.h"

/* What the server's statistics and the kernel know of a process. */
extern void plh_sql_explained_identify(PlhExplainedProcess *process, Oid role,
									   Oid database);

/* What a dump knows of its process: as it was then. */
extern void plh_sql_explained_identify_dump(PlhExplainedProcess *process,
											const PlhDump *dump);

/* The call of the last day that took most, if the caller may see it. */
extern void plh_sql_explained_find_largest(PlhExplainedProcess *process,
										   const PlhStatementPeaks *peaks);

#endif							/* PLH_SQL_EXPLAINED_H */
