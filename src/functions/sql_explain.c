/*
 * sql_explain.c
 *	  The function of SQL that explains processes in sentences, and what is known of a process
 *	  before: names, state, sizes.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/process_facts.h"
#include "functions/sql_access.h"
#include "functions/sql_format.h"
#include "functions/sql_explain.h"
#include "functions/sql_moment.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/control_group.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "reader/statement_list.h"
#include "report/blamed_code.h"
#include "telling/finding_json.h"
#include "telling/server_summary.h"

/* Of further binaries it is not said how to get names. */
#define MOST_NAMELESS 4

/* Of a leader with more parallel workers, these are told. */
#define MOST_WORKERS 64

PLH_FUNCTION(pg_leakhunt_explain);

/* Names that are not to be shown become letters. */
static void
redact_names(PlhExplainedProcess *process)
{
	process->username = plh_redaction_role(process->username);
	process->database = plh_redaction_database(process->database);
	process->application_name = plh_redaction_application(process->application_name);
}

/* Fill in the parallel workers of a process, and what they have. */
static void
add_workers(PlhExplainedProcess *process)
{
	int			pids[MOST_WORKERS];
	StringInfoData list;

	process->worker_count = plh_server_activity_workers(process->pid, pids, MOST_WORKERS);
	if (process->worker_count == 0)
		return;
	initStringInfo(&list);
	for (int i = 0; i < process->worker_count; i++)
	{
		appendStringInfo(&list, "%s%d", i == 0 ? "" : ", ", pids[i]);
		process->worker_bytes += Max(0, plh_process_facts_rss_anon_bytes(pids[i]));
	}
	process->workers = list.data;
}

/* Fill in what the server's statistics and the kernel know of a process. */
static void
identify(PlhExplainedProcess *process, Oid role, Oid database)
{
	PlhServerActivity activity = {0};
	const PlhServerActivity *known = NULL;
	PlhProcessMemory memory;

	process->now = process->image == NULL || process->image->alive ?
		GetCurrentTimestamp() : plh_profile_image_ended_at(process->image->header);
	process->rss_anon_bytes = -1;
	if (process->image == NULL || process->image->alive)
	{
		process->is_exiting = plh_process_facts_is_exiting(process->pid) ||
			(process->image != NULL && process->image->header->exits_since != 0);
		process->rss_anon_bytes = plh_process_facts_rss_anon_bytes(process->pid);
		plh_server_processes_memory(process->pid, &memory);
		process->rss_shared_bytes = memory.shared_bytes;
		process->page_table_bytes = memory.page_table_bytes;
		add_workers(process);
		if (plh_server_activity_find(process->pid, &activity))
		{
			known = &activity;
			process->application_name = activity.application_name;
			process->state = activity.state;
			process->state_since = activity.state_since;
			process->leader_pid = activity.leader_pid;
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
plh_sql_explain_dumped(const PlhDump *dump)
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
plh_sql_explain_profiled(const PlhProfileImage *image)
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
plh_sql_explain_visit(bool sees_all, int pid, PlhExplainedVisitor visit, void *arg)
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

PlhServerAccount *
plh_sql_explain_account(bool sees_all, const char *group)
{
	PlhServerMemory *memory;
	PlhServerAccount *account;

	if (!sees_all)
		return NULL;
	memory = palloc(sizeof(PlhServerMemory));
	plh_server_memory_read(memory, plh_profile_directory_path(), group);
	account = plh_server_account_begin(memory, group == NULL ||
									   plh_control_group_has_this_process(group));
	plh_server_account_name_segments(account, plh_named_segments_read());
	return account;
}

/* The rows so far, and what they are made with. */
typedef struct Explaining
{
	PlhRowSink	sink;
	PlhSuppressions *suppressions;
	bool		as_json;
	PlhServerAccount *account;	/* of all processes, or NULL */
	List	   *rows;			/* of PlhSummarized, with the text of the row */
	const char *nameless[MOST_NAMELESS];	/* paths of binaries whose
											 * functions are told without
											 * names */
	int			nameless_count;
} Explaining;

/*
 * Note that names of a binary are missing in what is said of a process.  Returns its path if this
 * is new.
 */
static const char *
note_nameless(Explaining *explaining, const char *path)
{
	const char *shown = path == NULL ? NULL : plh_database_text_fit(path);

	if (path == NULL || explaining->nameless_count == MOST_NAMELESS)
		return NULL;
	for (int i = 0; i < explaining->nameless_count; i++)
		if (strcmp(explaining->nameless[i], shown) == 0)
			return NULL;
	explaining->nameless[explaining->nameless_count++] =
		MemoryContextStrdup(explaining->sink.memory, shown);
	return shown;
}

static const char *
json_of(const PlhExplainedProcess *process, const PlhExplanation *explanation, const char *names)
{
	StringInfoData json;

	initStringInfo(&json);
	plh_finding_json_put_explanation(&json, process, explanation, names);
	return json.data;
}

/* PlhExplainedVisitor: explain a process, and keep the row for as long as the call lasts. */
static void
explain(const PlhExplainedProcess *process, void *arg)
{
	Explaining *explaining = arg;
	PlhExplanation *explanation = plh_explanation_make(process,
													   plh_sql_rows_symbols(&explaining->sink),
													   explaining->suppressions);
	const char *nameless = note_nameless(explaining, explanation->nameless);
	const char *text = explanation->text.text.data;
	MemoryContext caller_context;
	PlhSummarized *summarized;

	if (explaining->account != NULL)
		plh_server_account_add(explaining->account, process->pid, process->backend_type,
							   process->application_name, process->image);

	/* a text has how to get names behind those of all processes */
	if (explaining->as_json)
		text = json_of(process, explanation, nameless == NULL ? NULL :
					   plh_blamed_code_names_hint(&nameless, 1));
	caller_context = MemoryContextSwitchTo(explaining->sink.memory);
	summarized = plh_server_summary_enter(process, explanation);
	summarized->row = pstrdup(text);
	explaining->rows = lappend(explaining->rows, summarized);
	MemoryContextSwitchTo(caller_context);
}

/*
 * One process, alive or not; a WARNING if there is none, or none that the caller may see.
 */
static void
explain_one(Explaining *explaining, int pid)
{
	plh_sql_moment_of(pid);
	if (pid != 0)
		plh_sql_explain_visit(explaining->sink.sees_all, pid, explain, explaining);
	if (explaining->rows == NIL && plh_server_processes_check(pid) && !plh_sql_access_knows(pid))
		plh_sql_source_deny_process(pid);
}

/* list_sort comparator: the largest process first. */
static int
compare_rows(const ListCell *a, const ListCell *b)
{
	const PlhSummarized *left = lfirst(a);
	const PlhSummarized *right = lfirst(b);

	return left->bytes != right->bytes ?
		(left->bytes < right->bytes ? 1 : -1) : left->pid - right->pid;
}

/*
 * One row; of the server as a whole with the pid 0.  The first one says how to get names that are
 * missing.
 */
static void
put_row(Explaining *explaining, int pid, const char *text)
{
	PlhRow		row = {0};

	if (explaining->nameless_count > 0 && !explaining->as_json)
	{
		text = psprintf("%s\n%s", text, plh_blamed_code_names_hint(explaining->nameless,
																   explaining->nameless_count));
		explaining->nameless_count = 0;
	}

#include "functions/columns/explain.def"
	plh_sql_rows_finish(&row, &explaining->sink);
}

/* The rows, of the server after one of it as a whole, and without those like one before. */
static void
put_rows(Explaining *explaining, bool of_server)
{
	PlhSaid		summary;
	ListCell   *cell;

	list_sort(explaining->rows, compare_rows);
	if (of_server)
		plh_server_summary_make(&summary, explaining->rows, explaining->account);
	if (of_server && !explaining->as_json)
		put_row(explaining, 0, summary.text.data);
	foreach(cell, explaining->rows)
	{
		const PlhSummarized *summarized = lfirst(cell);

		if (!of_server || summarized->is_listed || explaining->as_json)
			put_row(explaining, summarized->pid, summarized->row);
	}
}

static Datum
put_explanations(FunctionCallInfo fcinfo)
{
	PlhTarget	target = plh_sql_source_target(fcinfo, 3);
	Explaining	explaining = {0};
	PlhExplainedProcess dumped;

	explaining.as_json = plh_sql_format_is_json(fcinfo, 1);
	plh_sql_rows_start(fcinfo, &explaining.sink);
	if (target.file == NULL && !plh_sql_source_publish_and_save())
		return (Datum) 0;
	explaining.suppressions = plh_sql_source_suppressions(fcinfo);
	if (target.all)
	{
		explaining.account = plh_sql_explain_account(explaining.sink.sees_all, NULL);
		plh_sql_explain_visit(explaining.sink.sees_all, 0, explain, &explaining);
	}
	else if (target.file != NULL)
	{
		dumped = plh_sql_explain_dumped(plh_sql_source_dump(target.file, false));
		explain(&dumped, &explaining);
	}
	else
		explain_one(&explaining, target.pid);
	put_rows(&explaining, target.all);
	return (Datum) 0;
}

/*
 * pg_leakhunt_explain(target, format, redact): a paragraph on a process or dump, or on the server
 * and its processes, the largest first.
 */
Datum
pg_leakhunt_explain(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, put_explanations);
}
