/*
 * sql_source.h
 *	  The source that a function of SQL shows: a process, a dump file or all
 *	  processes together, as they are or as they have grown; and what is done
 *	  before profiles are looked at.
 *
 * All of these functions check privileges.  All throw errors, except
 * plh_sql_source_try_dump.
 */
#ifndef PLH_SQL_SOURCE_H
#define PLH_SQL_SOURCE_H

#include "fmgr.h"

#include "reader/dump_reader.h"
#include "report/site_list.h"

/* These come first. */
extern void plh_sql_source_check_active(void);
extern bool plh_sql_source_publish_and_save(void);

/* What a function of SQL is asked to show. */
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
 * Functions come in three forms: of all processes; of a process, with a pid in front
 * of the same arguments; and of a dump, with the name of a file in front, and that of
 * another dump, the base, in place of the flag "growth".  The numbers
 * of "growth" and "peak" are those of the first form.
 */
extern PlhSource plh_sql_source_of_arguments(FunctionCallInfo fcinfo,
											 int arguments, int growth,
											 int peak);

extern bool plh_sql_source_names_process(FunctionCallInfo fcinfo);
extern PlhProfileImage *plh_sql_source_process(int pid, int level);
extern void plh_sql_source_deny_process(int pid, int level);
extern PlhDump *plh_sql_source_dump(const char *file, bool header_only);
extern PlhDump *plh_sql_source_try_dump(const char *path, bool header_only,
										ErrorData **error);
extern PlhSiteList *plh_sql_source_sites(const PlhSource *source);

#endif							/* PLH_SQL_SOURCE_H */
