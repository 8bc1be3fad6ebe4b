/*
 * stand_ins.c
 *	  What the functions of SQL and the keeper ask of the server, for a server of one
 *	  process.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/builtins.h"

#include "base/hash_seed.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "process/unshown_profile.h"
#include "reader/profile_reader.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "reader/session_peaks.h"
#include "report/debug_packages.h"
#include "scenario_process.h"
#include "scenario_server.h"
#include "simulated.h"
#include "verdict/suppression_table.h"

bool		plh_log_verdicts = true;

/* Each run is like the one before. */
uint64
plh_hash_seed_draw(void)
{
	return UINT64CONST(0x9E3779B97F4A7C15);
}

/* The profiles of the server's processes: there is one, once it is shown. */
PlhProfileImage *
plh_profile_reader_find(const char *directory, int pid, bool header_only)
{
	return pid == MyProcPid && simulated_is_published() ? &scenario_image : NULL;
}

void
plh_profile_reader_each(const char *directory, int pid, bool header_only,
						PlhProfileFilter wanted, PlhProfileVisitor visit, void *arg)
{
	if ((pid == 0 || pid == MyProcPid) && simulated_is_published() &&
		(wanted == NULL || wanted(&scenario_image, arg)))
		visit(&scenario_image, arg);
}

void
plh_profile_reader_be_silent(void)
{
}

/* Where a baseline is. */
const char *
plh_profile_directory_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/pg_leakhunt-scenario.%d", getpid());
	return path;
}

/* Who looks may see everything. */
bool
plh_sql_access_sees_all(void)
{
	return true;
}

bool
plh_sql_access_may_see(Oid role)
{
	return true;
}

bool
plh_sql_access_knows(int pid)
{
	return true;
}

bool
plh_sql_access_is_of_cluster(const PlhProfileHeader *header)
{
	return true;
}

void
plh_sql_access_visit(bool sees_all, int pid, PlhProfileVisitor visit, void *arg)
{
	plh_profile_reader_each(NULL, pid, false, NULL, visit, arg);
}

bool
plh_sql_source_publish_and_save(void)
{
	return true;
}

bool
plh_sql_source_names_process(FunctionCallInfo fcinfo)
{
	return true;
}

PlhProfileImage *
plh_sql_source_process(int pid, int level)
{
	return plh_profile_reader_find(NULL, pid, false);
}

void
plh_sql_source_deny_process(int pid, int level)
{
}

PlhDump *
plh_sql_source_dump(const char *file, bool header_only)
{
	return NULL;
}

/* Arguments of functions of SQL, but arrays. */
bool
plh_sql_arguments_flag(FunctionCallInfo fcinfo, int number)
{
	return !PG_ARGISNULL(number) && PG_GETARG_BOOL(number);
}

char *
plh_sql_arguments_text(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(number));
}

PlhSuppressions *
plh_sql_suppressions_read(FunctionCallInfo fcinfo)
{
	return &scenario_suppressions;
}

PlhSuppressions *
plh_suppression_table_find(void)
{
	return &scenario_suppressions;
}

/* All processes have loaded pg_leakhunt. */
bool
plh_process_is_preloaded(void)
{
	return true;
}

const char *
plh_unshown_profile_reason(int pid)
{
	return NULL;
}

const char *
plh_unshown_profile_hint(int pid)
{
	return NULL;
}

bool
plh_server_processes_has(int pid)
{
	return pid == MyProcPid;
}

bool
plh_server_processes_check(int pid)
{
	return pid == MyProcPid;
}

PlhLoaded
plh_server_processes_loaded(int pid)
{
	return PLH_LOADED;
}

bool
plh_server_processes_is_titled(int pid, const char *end)
{
	return false;
}

List *
plh_server_processes_list(void)
{
	return lappend_int(NIL, MyProcPid);
}

/* The statement that runs, or that was the last. */
bool
plh_server_activity_query(int pid, PlhServerQuery *query)
{
	*query = scenario_process.query;
	return query->text != NULL;
}

/* The postmaster has nothing but itself. */
List *
plh_server_processes_binaries(int pid)
{
	List	   *binaries = lappend(NIL, makeString(my_exec_path));

	for (int i = 0; pid == MyProcPid && i < scenario_process.library_count; i++)
		binaries = lappend(binaries, makeString(scenario_process.libraries[i]));
	return binaries;
}

int64
plh_server_processes_shared_bytes(int pid)
{
	return 0;
}

int64
plh_process_facts_rss_anon_bytes(int pid)
{
	return plh_process_facts_own_bytes();
}

/* Peaks of statements are not kept. */
PlhStatementPeaks *
plh_statement_list_peaks(void)
{
	return NULL;
}

const PlhStatementEntry *
plh_session_peaks_find(const PlhStatementPeaks *peaks, int pid,
					   TimestampTz started_at, TimestampTz since)
{
	return NULL;
}

/* What to install is asked of the system that this runs on. */
PlhSystem
plh_debug_packages_here(void)
{
	return (PlhSystem)
	{
		""
	};
}

char *
plh_debug_packages_text(const PlhSystem *system, const char *const *paths, int count)
{
	return psprintf("[how to get the names of %s]", paths[0]);
}

char *
plh_debug_packages_command(const PlhSystem *system, const char *path)
{
	return psprintf("[command for the names of %s]", path);
}
