/*
 * sql_explain.c
 *	  The function of SQL that explains processes in sentences.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/process_facts.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/database_text.h"
#include "reader/profile_reader.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "verdict/explanation.h"

#define EXPLAIN_COLUMNS 2

PLH_FUNCTION(pg_leakhunt_explain);

/* One row, which is returned when all are known. */
typedef struct Explained
{
	int			pid;
	int64		bytes;			/* of private memory, by which rows are sorted */
	char	   *text;
} Explained;

/* The rows so far, and what they are made with. */
typedef struct Explaining
{
	PlhRowSink	sink;
	PlhSuppressions *suppressions;
	List	   *rows;			/* of Explained */
	List	   *profiled;		/* pids of live processes that have a profile */
} Explaining;

/* When a process that is gone ended, as far as that is known. */
static TimestampTz
end_of(const PlhProfileHeader *header)
{
	return header->death.at != 0 ? header->death.at :
		Max(header->census_at, header->counters.last_at);
}

/* Fill in what the server's statistics and the kernel know of a process. */
static void
identify(PlhExplainedProcess *process, Oid role, Oid database)
{
	PlhServerActivity activity = {0};
	const PlhServerActivity *known = NULL;

	process->now = process->image == NULL || process->image->alive ?
		GetCurrentTimestamp() : end_of(process->image->header);
	process->rss_anon_bytes = -1;
	if (process->image == NULL || process->image->alive)
	{
		process->rss_anon_bytes = plh_process_facts_private_bytes(process->pid);
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
			plh_database_text_fit_foreign(process->image->header->application_name,
										  strlen(process->image->header->application_name),
										  process->image->header->encoding);
	process->backend_type = process->image != NULL ?
		plh_profile_image_backend_type(process->image) :
		plh_sql_rows_unprofiled_type(process->pid, known);
	if (OidIsValid(role))
		process->username = GetUserNameFromId(role, true);
	if (OidIsValid(database))
		process->database = get_database_name(database);
}

/* Explain a process, and keep the row for as long as the call lasts. */
static void
explain(Explaining *explaining, const PlhExplainedProcess *process)
{
	char	   *text = plh_explanation_make(process,
											plh_sql_rows_symbols(&explaining->sink),
											explaining->suppressions);
	MemoryContext caller_context = MemoryContextSwitchTo(explaining->sink.memory);
	Explained  *row = palloc(sizeof(Explained));

	row->pid = process->pid;
	row->bytes = process->rss_anon_bytes >= 0 || process->image == NULL ?
		process->rss_anon_bytes : process->image->header->own_bytes;
	row->text = pstrdup(text);
	explaining->rows = lappend(explaining->rows, row);
	if (process->image != NULL && process->image->alive)
		explaining->profiled = lappend_int(explaining->profiled, process->pid);
	MemoryContextSwitchTo(caller_context);
}

/* PlhProfileVisitor: a process that has a profile. */
static void
explain_profile(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	PlhExplainedProcess process = {
		.pid = header->pid,
		.image = image,
		.loaded = PLH_LOADED,
		.baseline = plh_baseline_file_read(plh_profile_directory_path(), image)
	};

	identify(&process, header->role_oid, header->database_oid);
	explain(arg, &process);
}

/* A process of the server that may have no profile. */
static void
explain_unprofiled(Explaining *explaining, int pid)
{
	PlhExplainedProcess process = {
		.pid = pid,
		.loaded = plh_process_is_preloaded() ? PLH_LOADED :
		plh_server_processes_loaded(pid)
	};

	if (list_member_int(explaining->profiled, pid) ||
		!plh_sql_rows_may_know(pid) || plh_process_facts_start_ticks(pid) == 0)
		return;
	identify(&process, InvalidOid, InvalidOid);
	explain(explaining, &process);
}

/* All processes that the caller may see. */
static void
explain_all(Explaining *explaining)
{
	ListCell   *cell;

	plh_sql_rows_visit(&explaining->sink, explain_profile, explaining);
	foreach(cell, plh_server_processes_list())
	{
		CHECK_FOR_INTERRUPTS();
		explain_unprofiled(explaining, lfirst_int(cell));
	}
}

/* What plh_profile_reader_each passes on for one process. */
static void
explain_if_shown(PlhProfileImage *image, void *arg)
{
	Explaining *explaining = arg;

	if (plh_sql_rows_may_show(&explaining->sink, image->header))
		explain_profile(image, arg);
}

/*
 * One process, alive or not; a WARNING if there is none, or none that the caller
 * may see.
 */
static void
explain_one(Explaining *explaining, int pid)
{
	if (pid > 0)
		plh_profile_reader_each(plh_profile_directory_path(), pid, false,
								explain_if_shown, explaining);
	if (plh_server_processes_has(pid))
		explain_unprofiled(explaining, pid);
	if (explaining->rows == NIL && plh_server_processes_check(pid) &&
		!plh_sql_rows_may_know(pid))
		plh_sql_source_deny_process(pid, WARNING);
}

/* list_sort comparator: the largest process first. */
static int
compare_rows(const ListCell *a, const ListCell *b)
{
	const Explained *left = lfirst(a);
	const Explained *right = lfirst(b);

	return left->bytes != right->bytes ?
		(left->bytes < right->bytes ? 1 : -1) : left->pid - right->pid;
}

/*
 * pg_leakhunt_explain(pid): a paragraph on a process, or on each, the largest
 * first.
 */
Datum
pg_leakhunt_explain(PG_FUNCTION_ARGS)
{
	Explaining	explaining = {0};
	ListCell   *cell;

	plh_sql_rows_check_arguments(fcinfo, 1);
	if (!plh_sql_rows_start(fcinfo, &explaining.sink, EXPLAIN_COLUMNS))
		return (Datum) 0;
	explaining.suppressions = plh_sql_suppressions_read(fcinfo);
	if (PG_ARGISNULL(0))
		explain_all(&explaining);
	else
		explain_one(&explaining, PG_GETARG_INT32(0));
	list_sort(explaining.rows, compare_rows);
	foreach(cell, explaining.rows)
	{
		const Explained *explained = lfirst(cell);
		PlhRow		row = {0};

		plh_sql_rows_put_pid(&row, explained->pid);
		plh_sql_rows_put_text(&row, explained->text);
		plh_sql_rows_finish(&row, &explaining.sink);
	}
	return (Datum) 0;
}
