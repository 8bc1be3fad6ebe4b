/*
 * sql_source.h
 *	  What a function of SQL looks at, its target: a process, a dump file or all processes
 *	  together; and what is done before profiles are looked at.
 *
 * Functions that read have two forms with the same arguments: the first one is a pid, or a text,
 * which is the name of a dump or 'all'.  All of this checks privileges.  All throw errors, except
 * plh_sql_source_try_dump.  A pid of no process, or of one that the caller may not see, is a
 * WARNING in all functions, which then return nothing: the process may have ended just now.
 */
#pragma once

#include "fmgr.h"

#include "reader/dump_reader.h"
#include "report/site_list.h"
#include "telling/suppression.h"

/* These come first; the former is an ERROR where nothing can be sampled in this session. */
extern void plh_sql_source_check_active(void);
extern bool plh_sql_source_publish_and_save(void);

/* Their table has the schema of the extension's functions. */
extern PlhSuppressions *plh_sql_source_suppressions(FunctionCallInfo fcinfo);

/* What the first argument names. */
typedef struct PlhTarget
{
	bool		all;			/* all processes */
	int			pid;			/* else of a process */
	const char *file;			/* else name of a dump; NULL: neither */
} PlhTarget;

/* A profile that is looked at. */
typedef struct PlhSourceProfile
{
	PlhProfileImage *image;
	const PlhDump *dump;		/* that it is of; NULL: it is that of a
								 * process */
} PlhSourceProfile;

/* Of a function with that many arguments. */
extern int	plh_sql_source_pid(FunctionCallInfo fcinfo, int arguments);

/* As plh_sql_source_check_active, but for what is read from a file. */
extern void plh_sql_source_check_target(const PlhTarget *target);
extern PlhTarget plh_sql_source_target(FunctionCallInfo fcinfo, int arguments);
extern bool plh_sql_source_profile(PlhSourceProfile *profile, const PlhTarget *target);

/* The baseline that goes with a profile, or NULL, and when its figures were true. */
extern const PlhBaseline *plh_sql_source_baseline(const PlhSourceProfile *profile);
extern TimestampTz plh_sql_source_time(const PlhSourceProfile *profile);

/* A target whose call sites are shown as a list, and how. */
typedef struct PlhSource
{
	PlhTarget	target;
	bool		queries;		/* of all processes, statements are told apart
								 * by their texts */
	bool		growth;			/* since the baseline of each */
	const char *base;			/* dump that growth is counted from, or NULL */
	bool		peak;			/* as it was when the process held most */
	bool		keeps_values;	/* that stands beside what is live; else it is
								 * shown instead */
	bool		unnamed;		/* without names of functions */
	int			owner_parts;	/* by which PLH_OWNER_* processes are told
								 * apart, of all */
	bool		may_be_empty;	/* of all, no process at all is an empty list */
} PlhSource;

/* The arguments "growth", "base" and "peak" follow each other from that number on. */
extern PlhSource plh_sql_source_of_arguments(FunctionCallInfo fcinfo, int arguments, int growth);

/* NULL, after a WARNING, if there is no such process. */
extern PlhSiteList *plh_sql_source_sites(const PlhSource *source);

extern PlhProfileImage *plh_sql_source_process(int pid);
extern void plh_sql_source_deny_process(int pid);
extern PlhDump *plh_sql_source_dump(const char *file, bool header_only);
extern PlhDump *plh_sql_source_try_dump(const char *path, bool header_only, ErrorData **error);
