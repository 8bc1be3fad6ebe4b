/*
 * sql_control.c
 *	  The functions of SQL that act on processes: start, stop, baseline, trim; and on the caches
 *	  of this session.
 */
#include "postgres.h"

#include <unistd.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "storage/procsignal.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/timestamp.h"

#include "base/allocator.h"
#include "base/compat.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_errand.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "process/trim.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "sampler/control.h"
#include "sampler/countdown.h"
#include "sampler/publication.h"

/* The pid of requests to all processes. */
#define ALL_PROCESSES 0

/* So long it is waited for memory to be given back. */
#define TRIM_WAIT_US INT64CONST(5000000)

PLH_FUNCTION(pg_leakhunt_start);
PLH_FUNCTION(pg_leakhunt_start_all);
PLH_FUNCTION(pg_leakhunt_stop);
PLH_FUNCTION(pg_leakhunt_stop_all);
PLH_FUNCTION(pg_leakhunt_reset_all);
PLH_FUNCTION(pg_leakhunt_baseline);
PLH_FUNCTION(pg_leakhunt_baseline_all);
PLH_FUNCTION(pg_leakhunt_trim);
PLH_FUNCTION(pg_leakhunt_reset_caches);

/* Throw the ERROR for a request that could not be made, by errno. */
static void
throw_request_failed(int pid)
{
	if (errno == ENOSPC)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED), pid == ALL_PROCESSES ?
						errmsg("could not make the request: %m") :
						errmsg("could not make the request to process %d: %m", pid),
						errdetail("Too many processes have requests, or \"%s\" is full.",
								  plh_profile_directory_path()),
						errhint("pg_leakhunt_reset_all() withdraws all requests.")));
	if (errno == EWOULDBLOCK)
		ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("could not make the request"),
						errdetail("Another process has held a lock in \"%s\" for more than 2 seconds. It may be stopped.",
								  plh_profile_directory_path()),
						errhint("Try again. If it happens again, look for a stopped process that has the file open.")));
	ereport(ERROR, (errcode_for_file_access(), errmsg("could not make the request: %m"),
					errdetail("Requests are made through a file in directory \"%s\", which could not be opened.",
							  plh_profile_directory_path())));
}

/* Make the request, or take all back if it is NULL. */
static void
make_request(int pid, const PlhControlRequest *request)
{
	if (!plh_control_request(pid, request))
		throw_request_failed(pid);

	/* what a session asks of itself it gets at once */
	plh_countdown_rearm();
}

/*
 * Warn of a process whose profile has another layout than ours: its version of the module may look
 * for requests elsewhere.
 */
static void
warn_of_other_version(int pid)
{
	char		path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d", plh_profile_directory_path(), pid);
	if (!plh_profile_reader_has_other_layout(path))
		return;
	ereport(WARNING, (errmsg("process %d may not notice the request", pid),
					  errdetail("It runs another version of pg_leakhunt than this session.")));
}

/* Make the request to one process; false, after a WARNING, if that can't be. */
static bool
make_request_of_one(int pid, const PlhControlRequest *request)
{
	if (!plh_server_processes_check(pid) || !plh_sql_access_check_loaded(pid))
		return false;
	make_request(pid, request);
	warn_of_other_version(pid);
	return true;
}

/* A size as settings take it, such as '32kB', in bytes. */
static int64
parse_size(const char *text)
{
	const char *hint = NULL;
	int			bytes;

	if (!parse_int(text, &bytes, GUC_UNIT_BYTE, &hint))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid sample interval: \"%s\"", text),
						hint != NULL ? errhint("%s", _(hint)) :
						errhint("Specify a number of bytes, or a number with a unit, such as 32kB.")));
	return bytes;
}

/*
 * The sample_interval argument, a number or a text with a unit; 0 for what the settings say.
 */
static uint32
get_interval(FunctionCallInfo fcinfo, int number)
{
	int64		interval;

	if (PG_ARGISNULL(number))
		return 0;
	if (get_fn_expr_argtype(fcinfo->flinfo, number) == TEXTOID)
		interval = parse_size(text_to_cstring(PG_GETARG_TEXT_PP(number)));
	else
		interval = PG_GETARG_INT64(number);
	if (interval < 1 || interval > PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("sample interval %lld is out of range", (long long) interval),
						errdetail("It must be between 1 and %d bytes.", PG_INT32_MAX)));
	return interval;
}

/* The scope argument; -1 for what the settings say. */
static int
get_scope(FunctionCallInfo fcinfo, int number)
{
	char	   *name;
	int			scope;

	if (PG_ARGISNULL(number))
		return -1;
	name = text_to_cstring(PG_GETARG_TEXT_PP(number));
	for (scope = PLH_SCOPE_LONG_LIVED; scope <= PLH_SCOPE_ALL; scope++)
	{
		if (strcmp(name, plh_settings_scope_name(scope)) == 0)
			return scope;
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized scope: \"%s\"", name),
					errhint("Available scopes are long_lived and all.")));
}

/*
 * The request that the arguments sample_interval, scope and duration express, of which "first" is
 * the number of the first.
 */
static PlhControlRequest
get_request(FunctionCallInfo fcinfo, int first)
{
	PlhControlRequest request = {.present = true,.sampling = true};

	request.sample_interval = get_interval(fcinfo, first);
	request.scope = get_scope(fcinfo, first + 1);
	request.duration_us = plh_sql_arguments_duration(fcinfo, first + 2, "duration");
	return request;
}

/*
 * pg_leakhunt_start(pid, sample_interval, scope, duration): sample a process.
 */
Datum
pg_leakhunt_start(PG_FUNCTION_ARGS)
{
	int			pid = plh_sql_source_pid(fcinfo, 4);
	PlhControlRequest request = get_request(fcinfo, 1);

	PG_RETURN_BOOL(make_request_of_one(pid, &request));
}

/*
 * pg_leakhunt_start_all(sample_interval, scope, duration): sample all processes.
 */
Datum
pg_leakhunt_start_all(PG_FUNCTION_ARGS)
{
	PlhControlRequest request;

	plh_sql_rows_check_arguments(fcinfo, 3);
	plh_sql_source_check_active();
	request = get_request(fcinfo, 0);
	make_request(ALL_PROCESSES, &request);
	PG_RETURN_VOID();
}

/*
 * pg_leakhunt_stop(pid): take no more samples of a process.
 */
Datum
pg_leakhunt_stop(PG_FUNCTION_ARGS)
{
	PlhControlRequest request = {.present = true,.scope = -1};

	PG_RETURN_BOOL(make_request_of_one(plh_sql_source_pid(fcinfo, 1), &request));
}

/*
 * pg_leakhunt_stop_all(): take no more samples of any process.
 */
Datum
pg_leakhunt_stop_all(PG_FUNCTION_ARGS)
{
	PlhControlRequest request = {.present = true,.scope = -1};

	plh_sql_rows_check_arguments(fcinfo, 0);
	plh_sql_source_check_active();
	make_request(ALL_PROCESSES, &request);
	PG_RETURN_VOID();
}

/*
 * pg_leakhunt_reset_all(): take all requests back; from now on the settings count.
 */
Datum
pg_leakhunt_reset_all(PG_FUNCTION_ARGS)
{
	plh_sql_rows_check_arguments(fcinfo, 0);
	plh_sql_source_check_active();
	make_request(ALL_PROCESSES, NULL);
	PG_RETURN_VOID();
}

typedef struct BaselineCount
{
	bool		sees_all;		/* privileges of pg_read_all_stats */
	int			taken;
	List	   *found;			/* pids with a profile, visible or not */
	bool		denied;			/* one of these is not for the caller */
	MemoryContext memory;		/* that the list is in */
} BaselineCount;

/* An ERROR about a baseline that could not be written. */
static void
report_unwritten(int pid)
{
	ereport(ERROR, (errcode_for_file_access(),
					errmsg("could not write the baseline of process %d in directory \"%s\": %m",
						   pid, plh_profile_directory_path())));
}

/*
 * PlhProfileFilter: may the caller take the baseline?  Also notes that the process has a profile.
 */
static bool
find_process(const PlhProfileImage *image, void *arg)
{
	BaselineCount *count = arg;
	MemoryContext caller_context;
	bool		may_take = plh_sql_access_shows(count->sees_all, image->header);

	if (!image->alive)
		return false;
	count->denied = count->denied || !may_take;
	caller_context = MemoryContextSwitchTo(count->memory);
	count->found = lappend_int(count->found, image->header->pid);
	MemoryContextSwitchTo(caller_context);
	return may_take;
}

/* PlhProfileVisitor: take the baseline of a process that lives. */
static void
take_baseline(PlhProfileImage *image, void *arg)
{
	BaselineCount *count = arg;

	if (!image->alive || !plh_sql_access_shows(count->sees_all, image->header))
		return;
	if (!plh_baseline_file_take(plh_profile_directory_path(), image))
		report_unwritten(image->header->pid);
	count->taken++;
}

/*
 * Take the baselines of processes that have no profile yet, and that the caller may know of.  The
 * few samples that such a process has count as growth when it gets a profile.
 */
static void
take_other_baselines(const BaselineCount *count)
{
	ListCell   *cell;

	foreach(cell, plh_server_processes_list())
	{
		int			pid = lfirst_int(cell);

		if (!list_member_int(count->found, pid) && plh_sql_access_may_have_loaded(pid) &&
			plh_sql_access_knows(pid) &&
			!plh_baseline_file_take_empty(plh_profile_directory_path(), pid))
			report_unwritten(pid);
	}
}

/*
 * pg_leakhunt_baseline(pid): count growth of a process from here.  Returns the number of processes:
 * 1, or, after a WARNING, 0.
 */
Datum
pg_leakhunt_baseline(PG_FUNCTION_ARGS)
{
	const char *directory = plh_profile_directory_path();
	BaselineCount count = {.memory = CurrentMemoryContext};
	int			pid = plh_sql_source_pid(fcinfo, 1);

	count.sees_all = plh_sql_access_sees_all();
	plh_publication_publish();
	if (pid > 0)
		plh_profile_reader_each(directory, pid, false, find_process, take_baseline, &count);
	if (count.taken > 0)
		PG_RETURN_INT32(count.taken);
	if (!plh_server_processes_check(pid) || !plh_sql_access_check_loaded(pid))
		PG_RETURN_INT32(0);
	if (count.denied || !plh_sql_access_knows(pid))
	{
		plh_sql_source_deny_process(pid);
		PG_RETURN_INT32(0);
	}
	if (count.found != NIL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("could not take a baseline of process %d", pid),
						errdetail("Its profile could not be read, or has just been removed."),
						errhint("Try again.")));
	if (!plh_baseline_file_take_empty(directory, pid))
		report_unwritten(pid);
	PG_RETURN_INT32(1);
}

/*
 * pg_leakhunt_baseline_all(): count growth of all processes that the caller may see from here.
 * Returns the number of those that have a profile.
 */
Datum
pg_leakhunt_baseline_all(PG_FUNCTION_ARGS)
{
	const char *directory = plh_profile_directory_path();
	BaselineCount count = {.memory = CurrentMemoryContext};

	plh_sql_rows_check_arguments(fcinfo, 0);
	plh_sql_source_check_active();
	count.sees_all = plh_sql_access_sees_all();
	plh_publication_publish();

	/* first: what begins to be profiled meanwhile has grown since */
	if (count.sees_all && !plh_baseline_file_take_empty(directory, 0))
		report_unwritten(0);
	plh_profile_reader_each(directory, 0, false, find_process, take_baseline, &count);
	take_other_baselines(&count);
	PG_RETURN_INT32(count.taken);
}

/* Throw an ERROR where nobody knows how to tell malloc. */
static void
check_malloc(int pid)
{
	const PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, true);

	if (image != NULL && image->alive && image->header->census_at != 0 &&
		plh_allocator_name(image->header->allocator) == NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("malloc of process %d is not known", pid),
						errdetail("glibc's malloc, jemalloc, tcmalloc and mimalloc can be told to give back what they keep.")));
}

/*
 * Does it run transactions?  After these it looks for requests.  If not, a WARNING says so.
 */
static bool
check_transactions(int pid)
{
	if (BackendPidGetProc(pid) != NULL)
		return true;
	ereport(WARNING, (errmsg("process %d cannot be asked to give back memory", pid),
					  errdetail("It runs no transactions, after which it could do so.")));
	return false;
}

/* Have another process, or this one, do it. */
static bool
have_trimmed(int pid, int64 *bytes)
{
	uint32		request = plh_errands_ask(PLH_ERRAND_TRIM, pid);

	if (request == 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("could not make the request to process %d", pid),
						errdetail("Requests are made through a file in directory \"%s\", which could not be opened.",
								  plh_profile_directory_path())));

	/* this is how the server itself has idle processes end a transaction */
	if (pid == MyProcPid)
		plh_trim_if_asked();
	else
		(void) SendProcSignal(pid, PROCSIG_CATCHUP_INTERRUPT, -1);
	return plh_sql_errand_wait(PLH_ERRAND_TRIM, pid, request, TRIM_WAIT_US, bytes);
}

/*
 * pg_leakhunt_trim(pid): have a process give back what malloc keeps.  Returns by how much its
 * private memory has become smaller; null if it has not done so within seconds.
 */
Datum
pg_leakhunt_trim(PG_FUNCTION_ARGS)
{
	int64		bytes = 0;
	int			pid = plh_sql_source_pid(fcinfo, 1);

	if (!plh_server_processes_check(pid) || !plh_sql_access_check_loaded(pid) ||
		!check_transactions(pid))
		PG_RETURN_NULL();
	check_malloc(pid);
	if (have_trimmed(pid, &bytes))
		PG_RETURN_INT64(bytes);
	ereport(NOTICE, (errmsg("process %d has not given back memory yet", pid),
					 errdetail("It will do so when its transaction ends.")));
	PG_RETURN_NULL();
}

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
