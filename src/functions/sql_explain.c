/*
 * sql_explain.c
 *	  The function of SQL that explains processes in sentences.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_explained.h"
#include "functions/sql_redaction.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "reader/database_text.h"
#include "reader/server_processes.h"
#include "report/blamed_code.h"
#include "telling/explanation_json.h"
#include "telling/server_summary.h"

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

/* The explanation as an object of JSON. */
static const char *
json_of(const PlhExplainedProcess *process, const PlhExplanation *explanation, const char *names)
{
	StringInfoData json;

	initStringInfo(&json);
	plh_explanation_json_append(&json, process, explanation, names);
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
	if (pid != 0)
		plh_sql_explained_visit(explaining->sink.sees_all, pid, explain, explaining);
	if (explaining->rows == NIL && plh_server_processes_check(pid) && !plh_sql_access_knows(pid))
		plh_sql_source_deny_process(pid, WARNING);
}

/* The process of a dump, as it was then. */
static void
explain_dump(Explaining *explaining, const char *file)
{
	PlhExplainedProcess process = plh_sql_explained_dumped(plh_sql_source_dump(file, false));

	explain(&process, explaining);
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

#define COLUMN PLH_PUT_COLUMN
#include "functions/columns/explain.def"
	plh_sql_rows_finish(&row, &explaining->sink);
}

/* The server as a whole, then each process that differs from those before it. */
static void
put_server(Explaining *explaining)
{
	PlhToldText summary;
	ListCell   *cell;

	plh_server_summary_make(&summary, explaining->rows, explaining->sink.sees_all);
	if (!explaining->as_json)
		put_row(explaining, 0, summary.text.data);
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
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized format \"%s\"", format),
					errhint("Valid formats are text and json.")));
	return false;
}

/* The rows that the arguments ask for. */
static Datum
put_explanations(FunctionCallInfo fcinfo)
{
	PlhTarget	target = plh_sql_source_target(fcinfo, 3);
	Explaining	explaining = {0};
	ListCell   *cell;

	explaining.as_json = is_json(fcinfo);
	plh_sql_rows_start(fcinfo, &explaining.sink);
	if (target.file == NULL && !plh_sql_source_publish_and_save())
		return (Datum) 0;
	explaining.suppressions = plh_sql_suppressions_read(fcinfo);
	if (target.all)
		plh_sql_explained_visit(explaining.sink.sees_all, 0, explain, &explaining);
	else if (target.file != NULL)
		explain_dump(&explaining, target.file);
	else
		explain_one(&explaining, target.pid);
	list_sort(explaining.rows, compare_rows);
	if (target.all)
		put_server(&explaining);
	else
		foreach(cell, explaining.rows)
	{
		const PlhSummarized *summarized = lfirst(cell);

		put_row(&explaining, summarized->pid, summarized->row);
	}
	return (Datum) 0;
}

/*
 * pg_leakhunt_explain(target, format, redact): a paragraph on a process or dump, or on the server
 * and its processes, the largest first.
 */
Datum
pg_leakhunt_explain(PG_FUNCTION_ARGS)
{
	return plh_sql_redaction_call(fcinfo, put_explanations);
}
