/*
 * sql_explain.c
 *	  The function of SQL that explains processes in sentences.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/process_facts.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/database_text.h"
#include "reader/server_activity.h"
#include "reader/server_processes.h"
#include "reader/session_peaks.h"
#include "report/debug_packages.h"
#include "verdict/explanation.h"
#include "verdict/server_summary.h"

#define EXPLAIN_COLUMNS 2

/* Of further binaries it is not said how to get names. */
#define MOST_NAMELESS 4

PLH_FUNCTION(pg_leakhunt_explain);

/* The rows so far, and what they are made with. */
typedef struct Explaining
{
	PlhRowSink	sink;
	PlhSuppressions *suppressions;
	bool		as_json;
	List	   *rows;			/* of PlhSummarized, with the text of the row */
	List	   *profiled;		/* pids of live processes that have a profile */
	PlhStatementPeaks *peaks;
	const char *nameless[MOST_NAMELESS];	/* paths of binaries whose functions
											 * are told without names */
	int			nameless_count;
} Explaining;

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

/* Find the call of the last day that took most, if the caller may see it. */
static void
find_largest(PlhExplainedProcess *process, const PlhStatementPeaks *peaks)
{
	const PlhStatementEntry *entry =
		plh_session_peaks_find(peaks, process->pid, process->image->header->started_at,
							   process->now - USECS_PER_DAY);

	if (entry != NULL && plh_sql_access_may_see(entry->role_oid))
		process->largest = entry;
}

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : pstrdup(text);
}

/* What the summary of all processes needs of a finding. */
static PlhToldFinding *
copy_finding(const PlhToldFinding *finding)
{
	PlhToldFinding *copy = palloc0(sizeof(PlhToldFinding));

	copy->verdict = finding->verdict;
	copy->cause = pstrdup(finding->cause);
	copy->bytes = finding->bytes;
	return copy;
}

/* How to get the names of binaries, in lines. */
static const char *
names_text(const char *const *paths, int count)
{
	PlhSystem	here = plh_debug_packages_here();

	return plh_debug_packages_text(&here, paths, count);
}

/*
 * Note that names of a binary are missing in what is said of a process.  Returns its
 * path if this is new.
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

/* Explain a process, and keep the row for as long as the call lasts. */
static void
explain(Explaining *explaining, const PlhExplainedProcess *process)
{
	PlhExplanation *explanation = plh_explanation_make(process,
													   plh_sql_rows_symbols(&explaining->sink),
													   explaining->suppressions);
	const char *text;
	const char *nameless;
	MemoryContext caller_context;
	PlhSummarized *summarized;
	ListCell   *cell;

	/* an object has it among its sentences, a text behind those of all processes */
	nameless = note_nameless(explaining, explanation->nameless);
	if (nameless != NULL && explaining->as_json)
		explanation->text = psprintf("%s\n%s", explanation->text, names_text(&nameless, 1));
	text = explaining->as_json ? plh_explanation_json(process, explanation) :
		explanation->text;
	caller_context = MemoryContextSwitchTo(explaining->sink.memory);
	summarized = palloc0(sizeof(PlhSummarized));
	summarized->pid = process->pid;
	summarized->bytes = explanation->own_bytes;
	summarized->has_profile = process->image != NULL;
	summarized->is_loaded = process->loaded == PLH_LOADED;
	summarized->backend_type = copy_text(process->backend_type);
	summarized->application_name = copy_text(process->application_name);
	summarized->row = pstrdup(text);
	foreach(cell, explanation->findings)
		summarized->findings = lappend(summarized->findings,
									   copy_finding(lfirst(cell)));
	explaining->rows = lappend(explaining->rows, summarized);
	if (process->image != NULL && process->image->alive)
		explaining->profiled = lappend_int(explaining->profiled, process->pid);
	MemoryContextSwitchTo(caller_context);
}

/* PlhProfileVisitor: a process that has a profile. */
static void
explain_profile(PlhProfileImage *image, void *arg)
{
	const PlhProfileHeader *header = image->header;
	Explaining *explaining = arg;
	PlhExplainedProcess process = {
		.pid = header->pid,
		.image = image,
		.loaded = PLH_LOADED,
		.baseline = plh_baseline_file_read(plh_profile_directory_path(), image)
	};

	identify(&process, header->role_oid, header->database_oid);
	find_largest(&process, explaining->peaks);
	explain(explaining, &process);
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
		!plh_sql_access_knows(pid) || plh_process_facts_start_ticks(pid) == 0)
		return;
	identify(&process, InvalidOid, InvalidOid);
	explain(explaining, &process);
}

/* All processes that the caller may see. */
static void
explain_all(Explaining *explaining)
{
	ListCell   *cell;

	plh_sql_access_visit(explaining->sink.sees_all, 0, explain_profile, explaining);
	foreach(cell, plh_server_processes_list())
	{
		CHECK_FOR_INTERRUPTS();
		explain_unprofiled(explaining, lfirst_int(cell));
	}
}

/*
 * One process, alive or not; a WARNING if there is none, or none that the caller
 * may see.
 */
static void
explain_one(Explaining *explaining, int pid)
{
	if (pid > 0)
		plh_sql_access_visit(explaining->sink.sees_all, pid, explain_profile,
							 explaining);
	if (plh_server_processes_has(pid))
		explain_unprofiled(explaining, pid);
	if (explaining->rows == NIL && plh_server_processes_check(pid) &&
		!plh_sql_access_knows(pid))
		plh_sql_source_deny_process(pid, WARNING);
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
 * One row; of the server as a whole with the pid 0.  The first one says how to get names
 * that are missing.
 */
static void
put_row(Explaining *explaining, int pid, const char *text)
{
	PlhRow		row = {0};

	if (explaining->nameless_count > 0 && !explaining->as_json)
	{
		text = psprintf("%s\n%s", text,
						names_text(explaining->nameless, explaining->nameless_count));
		explaining->nameless_count = 0;
	}
	if (pid == 0)
		plh_sql_rows_put_null(&row);
	else
		plh_sql_rows_put_pid(&row, pid);
	plh_sql_rows_put_text(&row, text);
	plh_sql_rows_finish(&row, &explaining->sink);
}

/* The server as a whole, then each process that differs from those before it. */
static void
put_server(Explaining *explaining)
{
	const char *summary = plh_server_summary_make(explaining->rows,
												  explaining->sink.sees_all);
	ListCell   *cell;

	if (!explaining->as_json)
		put_row(explaining, 0, summary);
	foreach(cell, explaining->rows)
	{
		const PlhSummarized *summarized = lfirst(cell);

		if (summarized->is_listed || explaining->as_json)
			put_row(explaining, summarized->pid, summarized->row);
	}
}

/* Is the format that of programs?  Another one than the two is an ERROR. */
static bool
is_json(FunctionCallInfo fcinfo)
{
	const char *format = plh_sql_arguments_text(fcinfo, 1);

	if (format == NULL || strcmp(format, "text") == 0)
		return false;
	if (strcmp(format, "json") == 0)
		return true;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized format \"%s\"", format),
			 errhint("Valid formats are text and json.")));
	return false;
}

/*
 * pg_leakhunt_explain(pid, format): a paragraph on a process, or on the server and its
 * processes, the largest first.
 */
Datum
pg_leakhunt_explain(PG_FUNCTION_ARGS)
{
	Explaining	explaining = {0};
	ListCell   *cell;

	plh_sql_rows_check_arguments(fcinfo, 2);
	explaining.as_json = is_json(fcinfo);
	plh_sql_rows_start(fcinfo, &explaining.sink, EXPLAIN_COLUMNS);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	explaining.suppressions = plh_sql_suppressions_read(fcinfo);
	explaining.peaks = plh_statement_list_peaks();
	if (PG_ARGISNULL(0))
		explain_all(&explaining);
	else
		explain_one(&explaining, PG_GETARG_INT32(0));
	list_sort(explaining.rows, compare_rows);
	if (PG_ARGISNULL(0))
		put_server(&explaining);
	else
		foreach(cell, explaining.rows)
	{
		const PlhSummarized *summarized = lfirst(cell);

		put_row(&explaining, summarized->pid, summarized->row);
	}
	return (Datum) 0;
}
