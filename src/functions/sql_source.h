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
	bool		required;		/* no such process is an ERROR, not a WARNING */
} PlhSource;

extern PlhProfileImage *plh_sql_source_process(int pid, int level);
extern void plh_sql_source_deny_process(int pid, int level);
extern PlhDump *plh_sql_source_dump(const char *file, PlhDumpPart part);
extern PlhDump *plh_sql_source_try_dump(const char *path, PlhDumpPart part,
										ErrorData **error);
extern PlhSiteList *plh_sql_source_sites(const PlhSource *source);

#endif							/* PLH_SQL_SOURCE_H */
