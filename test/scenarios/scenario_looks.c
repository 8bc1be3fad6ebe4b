/*
 * scenario_looks.c
 *	  What is seen of the process of a scenario: what the functions of SQL return, and
 *	  what the log says.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "functions/sql_explain.h"
#include "other_processes.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "scenario_looks.h"
#include "scenario_process.h"
#include "scenario_rows.h"
#include "scenario_server.h"
#include "sql_columns.h"
#include "telling/explanation.h"

extern Datum pg_leakhunt_explain(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_contexts(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_overview(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_processes(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_sampling(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_report(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_statements(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_suspects(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_ages(PG_FUNCTION_ARGS);
extern Datum pg_leakhunt_history(PG_FUNCTION_ARGS);

static NullableDatum
text_argument(const char *text)
{
	return (NullableDatum)
	{
		.value = CStringGetTextDatum(text)
	};
}

/* The pid that a look begins with, or that of the last process. */
static NullableDatum
pid_argument(Words *words)
{
	int			pid = MyProcPid;

	if (words_are_left(words) && atoi(words->words[words->at]) > 0)
		pid = (int) words_number(words);
	else if (!scenario_process_has_begun())
		pid--;
	return (NullableDatum)
	{
		.value = Int32GetDatum(pid)
	};
}

/* What is said of the dump of this moment. */
static const char *
explain_dump(void)
{
	const PlhDump dump = {
		.image = &scenario_image,.baseline = plh_baseline_file_read(plh_profile_directory_path(), &scenario_image),
		.written_at = scenario_process.ended_at
	};
	const PlhExplainedProcess process = plh_sql_explain_dumped(&dump);

	return psprintf("%s\n", plh_explanation_make(&process, plh_symbols_open(),
												 &scenario_suppressions)->text.text.data);
}

/* explain [PID | server] [json] [redacted] */
static const char *
explain(Words *words)
{
	NullableDatum pid = pid_argument(words);
	bool		of_server = words_take(words, "server");
	bool		as_json = words_take(words, "json");
	bool		redacted = words_take(words, "redacted");
	SqlCall		call = {
		.function = pg_leakhunt_explain,.columns = explain_columns,
		.argument_count = 3,.shown = "explanation",
		.arguments = {pid, text_argument(as_json ? "json" : "text"),
		{BoolGetDatum(redacted)}}
	};

	if (scenario_process.is_over && !scenario_process.has_crashed)
		return explain_dump();
	call.arguments[0].isnull = of_server;
	return scenario_rows_of(&call, words);
}

bool
scenario_looks_may_answer(void)
{
	return scenario_process_has_begun() &&
		(!scenario_process.is_over || scenario_process.has_crashed);
}

const char *
scenario_looks_answer(void)
{
	Words		words = {0};
	SqlCall		call = {
		.function = pg_leakhunt_explain,.columns = explain_columns,
		.argument_count = 3,.shown = "explanation",
		.arguments = {pid_argument(&words), text_argument("json"), {BoolGetDatum(false)}}
	};
	const char *answer;

	scenario_server_begin_look();
	answer = scenario_rows_of(&call, &words);
	scenario_server_end_look();
	return pnstrdup(answer, strcspn(answer, "\n"));
}

/* report [PID] [COLUMN ...] */
static const char *
report(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_report,.columns = report_columns,
		.argument_count = 2,.arguments = {pid_argument(words), {BoolGetDatum(true)}},
		.shown = "site context_name live_bytes error_bytes total_bytes peak_bytes query"
	};

	return scenario_rows_of(&call, words);
}

/* processes [COLUMN ...] */
static const char *
processes(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_processes,.columns = processes_columns,
		.shown = "pid state live_bytes peak_bytes context_bytes malloc_bytes rss_anon_bytes"
	};

	return scenario_rows_of(&call, words);
}

/* sampling [COLUMN ...] */
static const char *
sampling(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_sampling,.columns = sampling_columns,
		.shown = "pid sampling sample_interval samples_live samples_taken sites"
	};

	return scenario_rows_of(&call, words);
}

/* contexts [COLUMN ...], of all processes */
static const char *
contexts(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_contexts,.columns = contexts_columns,
		.shown = "context_name lifetime instances context_bytes live_bytes examples"
	};

	return scenario_rows_of(&call, words);
}

/* statements [COLUMN ...], of all processes */
static const char *
statements(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_statements,.columns = statements_columns,
		.shown = "query calls max_peak_bytes error_bytes allowed_bytes calls_beyond kept_bytes site"
	};

	return scenario_rows_of(&call, words);
}

/* overview [COLUMN ...], of all processes: the view pg_leakhunt */
static const char *
overview(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_overview,.columns = overview_columns,
		.shown = "pid verdict size what who next_step"
	};

	return scenario_rows_of(&call, words);
}

/* suspects [COLUMN ...], of all processes */
static const char *
suspects(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_suspects,.columns = suspects_columns,
		.shown = "verdict bytes site context_name evidence"
	};

	return scenario_rows_of(&call, words);
}

/* ages [PID] [COLUMN ...] */
static const char *
ages(Words *words)
{
	const SqlCall call = {
		.function = pg_leakhunt_ages,.columns = ages_columns,
		.argument_count = 1,.arguments = {pid_argument(words)},
		.shown = "site allocated_from allocated_until older_than live_bytes total_bytes survival"
	};

	return scenario_rows_of(&call, words);
}

/* history [PID] [by family | by site] [COLUMN ...] */
static const char *
history(Words *words)
{
	NullableDatum pid = pid_argument(words);
	SqlCall		call = {
		.function = pg_leakhunt_history,.columns = history_columns,
		.argument_count = 2,.arguments = {pid, {.isnull = true}},
		.shown = "at name bytes contexts"
	};

	if (words_take(words, "by"))
		call.arguments[1] = text_argument(words_next(words));
	return scenario_rows_of(&call, words);
}

/* log: what it has got since the last look */
static const char *
log_lines(Words *words)
{
	return scenario_server_log();
}

const char *
scenario_looks_at(const char *command, Words *words)
{
	static const struct
	{
		const char *name;
		const char *(*look) (Words *words);
	}			looks[] = {
		{"explain", explain}, {"report", report}, {"processes", processes}, {"sampling", sampling},
		{"contexts", contexts}, {"statements", statements},
		{"overview", overview}, {"suspects", suspects},
		{"ages", ages}, {"history", history}, {"log", log_lines}
	};
	const char *answer = NULL;

	for (int i = 0; i < lengthof(looks) && answer == NULL; i++)
	{
		if (strcmp(looks[i].name, command) != 0)
			continue;
		if (other_processes_count() == 0)
			scenario_process_begin();
		scenario_server_begin_look();
		answer = looks[i].look(words);
		scenario_server_end_look();
	}
	return answer;
}
