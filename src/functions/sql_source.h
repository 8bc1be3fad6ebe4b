/*
 * sql_source.h
 *	  The source that a function of SQL shows: a process, a dump file or all
 *	  processes together, as they are or as they have grown.
 *
 * All of these functions check privileges.  All throw errors, except
 * plh_sql_source_try_dump.
 */
#ifndef PLH_SQL_SOURCE_H
#define PLH_SQL_SOURCE_H

#include "fmgr.h"

#include "reader/dump_reader.h"
#include "report/site_list.h"

typedef struct PlhSource
{
	bool		all;			/* all processes together */
	bool		queries;		/* of these, statements are told apart by
								 * their texts */
	int			pid;			/* of a process */
	const char *file;			/* name of a dump; NULL: a process, or all */
	const char *base;			/* dump that growth is counted from, or NULL */
	bool		growth;			/* of processes, since their baselines */
	bool		peak;			/* as it was when the process held most */
	bool		keeps_values;	/* that stands beside what is live; else it is
								 * shown instead */
	bool		unnamed;		/* without names of functions */
	int			owner_parts;	/* by which PLH_OWNER_* processes are told
								 * apart, of all */
	bool		required;		/* no such process is an ERROR, not a WARNING */
	bool		may_be_empty;	/* no process at all is a WARNING still */
} PlhSource;

/*
 * The source that a function's arguments name: argument 0, unless it is all
 * processes, and those with the numbers that are given.
 */
extern PlhSource plh_sql_source_of_process(FunctionCallInfo fcinfo, int growth,
										   int peak);
extern PlhSource plh_sql_source_of_all(FunctionCallInfo fcinfo, int growth,
									   int peak);
extern PlhSource plh_sql_source_of_file(FunctionCallInfo fcinfo, int base,
										int peak);

extern PlhProfileImage *plh_sql_source_process(int pid, int level);
extern void plh_sql_source_deny_process(int pid, int level);
extern PlhDump *plh_sql_source_dump(const char *file, PlhDumpPart part);
extern PlhDump *plh_sql_source_try_dump(const char *path, PlhDumpPart part,
										ErrorData **error);
extern PlhSiteList *plh_sql_source_sites(const PlhSource *source);

#endif							/* PLH_SQL_SOURCE_H */
