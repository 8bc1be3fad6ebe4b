/*
 * sql_control.c
 *	  The functions of SQL that act on processes: start, stop, baseline.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "base/settings.h"
#include "functions/sql_rows.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "sampler/control.h"
#include "sampler/method_hooks.h"
#include "sampler/owner.h"

PLH_FUNCTION(pg_leakhunt_start);
PLH_FUNCTION(pg_leakhunt_stop);
PLH_FUNCTION(pg_leakhunt_baseline);

/* May that process have loaded this module? */
static bool
may_have_loaded(int pid)
{
	return plh_process_is_preloaded() ||
		plh_server_processes_loaded(pid) != PLH_NOT_LOADED;
}

/* May it?  If not, a WARNING says so. */
static bool
check_loaded(int pid)
{
	if (may_have_loaded(pid))
		return true;
	ereport(WARNING,
			(errmsg("PID %d has not loaded pg_leakhunt", pid),
			 errhint("Only sessions that began after pg_leakhunt was added to session_preload_libraries, that loaded it themselves, or that it was attached to, can be sampled.")));
	return false;
}

/* Make the request; pid 0 means all processes. */
static bool
request(int pid, const PlhControlWish *wish)
{
	if (pid != 0 && (!plh_server_processes_check(pid) || !check_loaded(pid)))
		return false;
	if (!plh_control_request(pid, wish))
	{
		if (errno == ENOSPC)
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not make the request to process %d: %m", pid),
					 errdetail("There are requests to too many processes, or no room in \"%s\".",
							   plh_profile_directory_path())));
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not make the request: %m"),
				 errdetail("Requests are made through a file in directory \"%s\", which could not be made when the server started.",
						   plh_profile_directory_path())));
	}

	/* what a session asks of itself it gets at once */
	plh_method_hooks_rearm();
	return true;
}

/* The pid argument; 0 for all. */
static int
get_pid(FunctionCallInfo fcinfo)
{
	int			pid = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT32(0);

	/* 0 is no process, and must not mean all of them by accident */
	return PG_ARGISNULL(0) ? 0 : pid == 0 ? -1 : pid;
}

/* The scope argument. */
static int
get_scope(FunctionCallInfo fcinfo)
{
	char	   *name;
	int			scope;

	if (PG_ARGISNULL(2))
		return -1;
	name = text_to_cstring(PG_GETARG_TEXT_PP(2));
	for (scope = PLH_SCOPE_LONG_LIVED; scope <= PLH_SCOPE_ALL; scope++)
	{
		if (strcmp(name, plh_settings_scope_name(scope)) == 0)
			return scope;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized scope: \"%s\"", name),
			 errhint("Available scopes are long_lived and all.")));
}

/*
 * pg_leakhunt_start(pid, sample_interval, scope): sample a process, or all.
 */
Datum
pg_leakhunt_start(PG_FUNCTION_ARGS)
{
	PlhControlWish wish = {.present = true,.sampling = true};

	plh_sql_rows_check_active();
	wish.scope = get_scope(fcinfo);
	if (!PG_ARGISNULL(1))
	{
		int64		interval = PG_GETARG_INT64(1);

		if (interval < 1 || interval > PG_INT32_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("sample interval %lld is out of range",
							(long long) interval),
					 errdetail("It must be between 1 and %d bytes.",
							   PG_INT32_MAX)));
		wish.sample_interval = interval;
	}
	PG_RETURN_BOOL(request(get_pid(fcinfo), &wish));
}

/*
 * pg_leakhunt_stop(pid): take no more samples of a process, or of any.
 */
Datum
pg_leakhunt_stop(PG_FUNCTION_ARGS)
{
	PlhControlWish wish = {.present = true,.sampling = false,.scope = -1};

	plh_sql_rows_check_active();
	PG_RETURN_BOOL(request(get_pid(fcinfo), &wish));
}

typedef struct BaselineCount
{
	bool		sees_all;		/* privileges of pg_read_all_stats */
	int			taken;
	List	   *found;			/* pids with a profile, visible or not */
	MemoryContext memory;		/* that the list is in */
} BaselineCount;

/* An ERROR about a baseline that could not be written. */
static void
report_unwritten(int pid)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not write the baseline of process %d in directory \"%s\": %m",
					pid, plh_profile_directory_path())));
}

/* PlhProfileVisitor: take the baseline of a process that lives. */
static void
take_baseline(PlhProfileImage *image, void *arg)
{
	BaselineCount *count = arg;
	MemoryContext caller_context;

	if (!image->alive)
		return;
	caller_context = MemoryContextSwitchTo(count->memory);
	count->found = lappend_int(count->found, image->header->pid);
	MemoryContextSwitchTo(caller_context);
	if (!count->sees_all && !plh_sql_rows_may_see_role(image->header->role_oid))
		return;
	if (!plh_baseline_file_take(plh_profile_directory_path(), image))
		report_unwritten(image->header->pid);
	count->taken++;
}

/*
 * Take the baselines of processes that have no profile yet but may have: the few samples
 * that they may have are counted as growth when they get one.
 */
static void
take_other_baselines(const BaselineCount *count)
{
	ListCell   *cell;

	foreach(cell, plh_server_processes_list())
	{
		int			pid = lfirst_int(cell);

		if (!list_member_int(count->found, pid) && may_have_loaded(pid) &&
			!plh_baseline_file_take_empty(plh_profile_directory_path(), pid))
			report_unwritten(pid);
	}
}

/*
 * pg_leakhunt_baseline(pid): count growth from here, of a process or of all.
 * Returns the number of processes.
 */
Datum
pg_leakhunt_baseline(PG_FUNCTION_ARGS)
{
	const char *directory = plh_profile_directory_path();
	int			pid = get_pid(fcinfo);
	BaselineCount count = {.memory = CurrentMemoryContext};

	plh_sql_rows_check_active();
	count.sees_all = plh_sql_rows_may_see_all();
	plh_owner_publish();

	/* first: what begins to be profiled meanwhile has grown since */
	if (pid == 0 && count.sees_all && !plh_baseline_file_take_empty(directory, 0))
		report_unwritten(0);
	if (pid >= 0)
		plh_profile_reader_each(directory, pid, false, take_baseline, &count);
	if (pid == 0 && count.sees_all)
		take_other_baselines(&count);
	if (pid != 0 && count.found == NIL && plh_server_processes_check(pid) &&
		check_loaded(pid) && count.sees_all)
	{
		if (!plh_baseline_file_take_empty(directory, pid))
			report_unwritten(pid);
		count.taken++;
	}
	PG_RETURN_INT32(count.taken);
}
