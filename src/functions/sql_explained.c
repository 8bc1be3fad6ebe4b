/*
 * sql_explained.c
 *	  What is known of a process before it is explained: names, state, sizes.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/process_facts.h"
#include "functions/sql_access.h"
#include "functions/sql_explained.h"
#include "functions/sql_rows.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "reader/statement_list.h"

/* Names that are not to be shown become letters. */
static void
redact_names(PlhExplainedProcess *process)
{
	process->username = plh_redaction_role(process->username);
	process->database = plh_redaction_database(process->database);
	process->application_name = plh_redaction_application(process->application_name);
}

/* Fill in what the server's statistics and the kernel know of a process. */
static void
identify(PlhExplainedProcess *process, Oid role, Oid database)
{
	PlhServerActivity activity = {0};
	const PlhServerActivity *known = NULL;

	process->now = process->image == NULL || process->image->alive ?
		GetCurrentTimestamp() : plh_profile_image_ended_at(process->image->header);
	process->rss_anon_bytes = -1;
	if (process->image == NULL || process->image->alive)
	{
		process->rss_anon_bytes = plh_process_facts_rss_anon_bytes(process->pid);
		process->rss_shared_bytes = plh_server_processes_shared_bytes(process->pid);
		if (plh_server_activity_find(process->pid, &activity))
		{
			known = &activity;
			process->application_name = activity.application_name;
			process->state = activity.state;
			process->state_since = activity.state_since;
			role = OidIsValid(role) ? role : activity.role_oid;
			database = OidIsValid(database) ? database : activity.database_oid;
		}
	}
	if (process->image != NULL && !process->image->alive)
		process->application_name =
			plh_sql_rows_foreign(process->image->header->application_name,
								 process->image->header->encoding);
	process->backend_type = process->image != NULL ?
		plh_profile_image_backend_type(process->image) :
		plh_sql_rows_unprofiled_type(process->pid, known);
	if (OidIsValid(role))
		process->username = GetUserNameFromId(role, true);
	if (OidIsValid(database))
		process->database = get_database_name(database);
	redact_names(process);
}

/* Find the call of the last day that took most, if the caller may see it. */
static void
find_largest(PlhExplainedProcess *process, const PlhStatementPeaks *peaks)
{
	const PlhStatementEntry *entry =
		plh_statement_list_session_peak(peaks, process->pid, process->image->header->started_at,
										process->now - USECS_PER_DAY);

	if (entry != NULL && plh_sql_access_may_see(entry->role_oid))
		process->largest = entry;
}

/*
 * Names are the present ones, where the dump is of this cluster and they are there still; else
 * those by which the client asked for them.
 */
PlhExplainedProcess
plh_sql_explained_dumped(const PlhDump *dump)
{
	const PlhProfileImage *image = dump->image;
	const PlhProfileHeader *header = image->header;
	PlhExplainedProcess process = {
		.pid = header->pid,
		.image = image,
		.baseline = dump->baseline,
		.loaded = PLH_LOADED,
		.rss_anon_bytes = -1,
		.now = image->crashed ? plh_profile_image_ended_at(header) : dump->written_at,
		.backend_type = plh_profile_image_backend_type(image),
		.application_name = plh_sql_rows_foreign(header->application_name, header->encoding)
	};

	if (plh_sql_access_is_of_cluster(header))
	{
		process.username = GetUserNameFromId(header->role_oid, true);
		process.database = get_database_name(header->database_oid);
	}
	if (process.username == NULL)
		process.username = plh_sql_rows_foreign(header->role, header->encoding);
	if (process.database == NULL)
		process.database = plh_sql_rows_foreign(header->database, header->encoding);
	redact_names(&process);
	return process;
}

/* A process that has a profile; the peaks of statements were read before. */
static PlhExplainedProcess
profiled(const PlhProfileImage *image, const PlhStatementPeaks *peaks)
{
	const PlhProfileHeader *header = image->header;
	PlhExplainedProcess process = {
		.pid = header->pid,
		.image = image,
		.loaded = PLH_LOADED,
		.baseline = plh_baseline_file_read(plh_profile_directory_path(), image)
	};

	identify(&process, header->role_oid, header->database_oid);
	find_largest(&process, peaks);
	return process;
}

PlhExplainedProcess
plh_sql_explained_profiled(const PlhProfileImage *image)
{
	return profiled(image, plh_statement_list_peaks());
}

/* What a visit needs at each process. */
typedef struct Visit
{
	PlhExplainedVisitor visit;
	void	   *arg;
	const PlhStatementPeaks *peaks;
	MemoryContext memory;		/* that lasts as long as the visit */
	List	   *profiled;		/* pids of live processes that have a profile */
} Visit;

/* PlhProfileVisitor: a process that has a profile. */
static void
visit_profiled(PlhProfileImage *image, void *arg)
{
	Visit	   *visit = arg;
	PlhExplainedProcess process = profiled(image, visit->peaks);

	if (image->alive)
	{
		MemoryContext caller_context = MemoryContextSwitchTo(visit->memory);

		visit->profiled = lappend_int(visit->profiled, process.pid);
		MemoryContextSwitchTo(caller_context);
	}
	visit->visit(&process, visit->arg);
}

/* A process of the server that may have no profile. */
static void
visit_unprofiled(Visit *visit, int pid)
{
	PlhExplainedProcess process = {
		.pid = pid,
		.loaded = plh_process_is_preloaded() ? PLH_LOADED :
		plh_server_processes_loaded(pid)
	};

	if (list_member_int(visit->profiled, pid) ||
		!plh_sql_access_knows(pid) || plh_process_facts_start_ticks(pid) == 0)
		return;
	identify(&process, InvalidOid, InvalidOid);
	visit->visit(&process, visit->arg);
}

void
plh_sql_explained_visit(bool sees_all, int pid, PlhExplainedVisitor visit, void *arg)
{
	Visit		state = {
		.visit = visit,
		.arg = arg,
		.peaks = plh_statement_list_peaks(),
		.memory = CurrentMemoryContext
	};
	ListCell   *cell;

	if (pid >= 0)				/* 0 is all, and none is below */
		plh_sql_access_visit(sees_all, pid, visit_profiled, &state);
	if (pid != 0)
	{
		if (plh_server_processes_has(pid))
			visit_unprofiled(&state, pid);
		return;
	}
	foreach(cell, plh_server_processes_list())
	{
		CHECK_FOR_INTERRUPTS();
		visit_unprofiled(&state, lfirst_int(cell));
	}
}
