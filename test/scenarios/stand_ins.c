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
#include "utils/timestamp.h"

#include "backend.h"
#include "base/hash_seed.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_moment.h"
#include "functions/sql_source.h"
#include "other_processes.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "report/wrapped_text.h"
#include "sampler/control.h"
#include "scenario_process.h"
#include "scenario_server.h"
#include "server.h"
#include "simulated.h"
#include "telling/suppression_table.h"
#include "watch/proof_orders.h"

bool		plh_log_verdicts = true;

/* Each run is like the one before. */
uint64
plh_hash_seed_draw(void)
{
	return UINT64CONST(0x9E3779B97F4A7C15);
}

/* What is known of a process, of those before as well. */
static const ScenarioProcess *
process_of(int pid)
{
	const OtherProcess *other = other_processes_find(pid);

	return other == NULL ? &scenario_process : &other->process;
}

/* Let the names of roles and databases be those of that process. */
static void
know_names_of(int pid)
{
	const ScenarioProcess *process = process_of(pid);

	known_role = process->username;
	known_database = process->database;
}

/* The profiles of the server's processes: those before, and the last once it is shown. */
PlhProfileImage *
plh_profile_reader_find(const char *directory, int pid, bool header_only)
{
	const OtherProcess *other = other_processes_find(pid);

	know_names_of(pid);
	if (other != NULL)
		return other->image;
	return pid == MyProcPid && scenario_process_has_begun() && simulated_is_published() ?
		&scenario_image : NULL;
}

void
plh_profile_reader_each(const char *directory, int pid, bool header_only,
						PlhProfileFilter wanted, PlhProfileVisitor visit, void *arg)
{
	for (int i = 0; i <= other_processes_count(); i++)
	{
		int			this_pid = i < other_processes_count() ?
			other_processes_at(i)->activity.pid : MyProcPid;
		PlhProfileImage *image = plh_profile_reader_find(directory, this_pid, header_only);

		if (image != NULL && (pid == 0 || pid == this_pid) &&
			(wanted == NULL || wanted(image, arg)))
			visit(image, arg);
	}
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

bool
plh_sql_access_shows(bool sees_all, const PlhProfileHeader *header)
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

/* The last process counts at once, unless it is deaf. */
void
plh_sql_moment_of(int pid)
{
	if (pid == MyProcPid)
		scenario_server_have_counted();
}

void
plh_sql_source_check_active(void)
{
}

/* A pid; null is all processes here. */
PlhTarget
plh_sql_source_target(FunctionCallInfo fcinfo, int arguments)
{
	return (PlhTarget)
	{
		.all = PG_ARGISNULL(0),.pid = PG_GETARG_INT32(0)
	};
}

bool
plh_sql_source_profile(PlhSourceProfile *profile, const PlhTarget *target)
{
	*profile = (PlhSourceProfile)
	{
		.image = plh_profile_reader_find(NULL, target->pid, false)
	};
	return profile->image != NULL;
}

const PlhBaseline *
plh_sql_source_baseline(const PlhSourceProfile *profile)
{
	return plh_baseline_file_read(plh_profile_directory_path(), profile->image);
}

TimestampTz
plh_sql_source_time(const PlhSourceProfile *profile)
{
	return profile->image->alive ? GetCurrentTimestamp() :
		plh_profile_image_ended_at(profile->image->header);
}

PlhProfileImage *
plh_sql_source_process(int pid)
{
	return plh_profile_reader_find(NULL, pid, false);
}

void
plh_sql_source_deny_process(int pid)
{
}

PlhSiteList *
plh_sql_source_sites(const PlhSource *source)
{
	return NULL;
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

char *
plh_sql_arguments_required_text(FunctionCallInfo fcinfo, int number, const char *name)
{
	return text_to_cstring(PG_GETARG_TEXT_PP(number));
}

PlhSuppressions *
plh_sql_source_suppressions(FunctionCallInfo fcinfo)
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
plh_process_refusal(void)
{
	return NULL;
}

/* Nobody has asked a process to be sampled otherwise. */
void
plh_control_request_of(int pid, PlhControlRequest *request)
{
	memset(request, 0, sizeof(*request));
}

const char *
plh_profile_directory_failure(int pid, const char **hint)
{
	return NULL;
}

bool
plh_server_processes_has(int pid)
{
	const OtherProcess *other = other_processes_find(pid);

	return other != NULL ? !other->process.is_over :
		pid == MyProcPid && scenario_process_has_begun() && !scenario_process.is_over;
}

bool
plh_server_processes_check(int pid)
{
	return plh_server_processes_has(pid);
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
	List	   *list = NIL;

	for (int i = 0; i < other_processes_count(); i++)
		if (!other_processes_at(i)->process.is_over)
			list = lappend_int(list, other_processes_at(i)->activity.pid);
	return plh_server_processes_has(MyProcPid) ? lappend_int(list, MyProcPid) : list;
}

bool
plh_server_activity_find(int pid, PlhServerActivity *activity)
{
	const OtherProcess *other = other_processes_find(pid);

	know_names_of(pid);
	*activity = other == NULL ? server_activity : other->activity;
	activity->state = other == NULL ? server_state : other->state;
	return true;
}

/* The statement that runs, or that was the last. */
bool
plh_server_activity_query(int pid, PlhServerQuery *query)
{
	*query = process_of(pid)->query;
	return query->text != NULL;
}

/* The postmaster has nothing but itself. */
List *
plh_server_processes_binaries(int pid)
{
	const ScenarioProcess *process = process_of(pid);
	List	   *binaries = lappend(NIL, makeString(my_exec_path));

	for (int i = 0; pid != PostmasterPid && i < process->library_count; i++)
		binaries = lappend(binaries, makeString(process->libraries[i]));
	return binaries;
}

void
plh_server_processes_memory(int pid, PlhProcessMemory *memory)
{
	memset(memory, 0, sizeof(*memory));
}

bool
plh_process_facts_is_exiting(int pid)
{
	return false;
}

int64
plh_process_facts_rss_anon_bytes(int pid)
{
	const OtherProcess *other = other_processes_find(pid);

	return other == NULL ? plh_process_facts_own_bytes() : other->own_bytes;
}

/* A scenario says itself when its process is proven. */
void
plh_proof_orders_want(PlhWatchedProcess *process, const PlhProfileImage *image,
					  int64 finding_bytes, int64 begun_bytes)
{
}

void
plh_proof_orders_give(void)
{
}

/* A scenario has what is said.  How that is broken into lines is tested by test_wrapped_texts. */
char *
plh_wrapped_text(const char *text, int columns, int most_lines)
{
	return pstrdup(text);
}

char *
plh_wrapped_text_statement(const char *text, int columns)
{
	return pstrdup(text);
}
