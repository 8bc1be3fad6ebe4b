/*
 * sql_page.c
 *	  The function of SQL that makes a page of a process, a dump or the server.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_explain.h"
#include "functions/sql_kept.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "page/page_html.h"
#include "page/page_process.h"
#include "page/page_server.h"
#include "process/profile_directory.h"
#include "reader/database_text.h"
#include "reader/server_processes.h"

PLH_FUNCTION(pg_leakhunt_page);

/* Explain a process; names that are missing are told of in one line more. */
static PlhExplanation *
explain(const PlhExplainedProcess *process, PlhSymbols *symbols, PlhSuppressions *suppressions)
{
	PlhExplanation *explanation = plh_explanation_make(process, symbols, suppressions);

	if (explanation->nameless != NULL)
		PLH_LINE(&explanation->text, true, names_missing,
				 .library = plh_stack_text_base_name(plh_database_text_fit(explanation->nameless)));
	return explanation;
}

static Datum
page_of(const char *title, const char *words, StringInfo json)
{
	StringInfoData output;

	initStringInfo(&output);
	plh_page_html_append(&output, title, words, json);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

/* What the page of a process without a profile is made with, and the page. */
typedef struct Unprofiled
{
	MemoryContext memory;		/* that the page is in */
	PlhSuppressions *suppressions;
	Datum		page;			/* 0: there is none */
} Unprofiled;

/* PlhExplainedVisitor: make the page of a process that has no profile. */
static void
show_unprofiled(const PlhExplainedProcess *process, void *arg)
{
	Unprofiled *unprofiled = arg;
	MemoryContext caller_context = MemoryContextSwitchTo(unprofiled->memory);
	PlhExplanation *explanation;
	StringInfoData json;

	if (process->image == NULL)
	{
		explanation = explain(process, plh_symbols_open(), unprofiled->suppressions);
		initStringInfo(&json);
		plh_page_process_append_unprofiled(&json, process, explanation);
		unprofiled->page = page_of(plh_page_process_unprofiled_title(process),
								   explanation->text.text.data, &json);
	}
	MemoryContextSwitchTo(caller_context);
}

/* The page of a process that has kept too little for a profile; 0 if it has one, or is none. */
static Datum
page_of_unprofiled(FunctionCallInfo fcinfo, int pid)
{
	Unprofiled	unprofiled = {.memory = CurrentMemoryContext};

	if (pid > 0 && plh_sql_access_knows(pid) &&
		plh_profile_reader_find(plh_profile_directory_path(), pid, true) == NULL)
	{
		unprofiled.suppressions = plh_sql_source_suppressions(fcinfo);
		plh_sql_explain_visit(plh_sql_access_sees_all(), pid, show_unprofiled, &unprofiled);
	}
	return unprofiled.page;
}

static Datum
page_of_profile(FunctionCallInfo fcinfo, const PlhTarget *target, const PlhSourceProfile *profile)
{
	PlhExplainedProcess process;
	PlhPageSource source = {.process = &process};
	const char *words;
	StringInfoData json;

	if (profile->dump != NULL)
		source.file = plh_stack_text_base_name(target->file);
	process = profile->dump == NULL ? plh_sql_explain_profiled(profile->image) :
		plh_sql_explain_dumped(profile->dump);
	source.symbols = plh_symbols_open();
	source.explanation = explain(&process, source.symbols, plh_sql_source_suppressions(fcinfo));
	source.list = plh_site_list_make(source.symbols, process.image, process.baseline, process.now);
	words = source.explanation->text.text.data;
	initStringInfo(&json);
	plh_page_process_append(&json, &source, plh_page_html_room(words));
	return page_of(plh_page_process_title(&source), words, &json);
}

static Datum
page_of_one(FunctionCallInfo fcinfo, const PlhTarget *target)
{
	PlhSourceProfile profile = {0};
	Datum		page;

	plh_sql_source_check_target(target);
	if (target->file != NULL)
	{
		(void) plh_sql_source_profile(&profile, target);
		return page_of_profile(fcinfo, target, &profile);
	}
	if (!plh_sql_source_publish_and_save())
		PG_RETURN_NULL();
	page = page_of_unprofiled(fcinfo, target->pid);
	if (page != 0)
		return page;
	profile.image = plh_sql_source_process(target->pid);
	if (profile.image == NULL)
		PG_RETURN_NULL();
	return page_of_profile(fcinfo, target, &profile);
}

/* What processes are explained with, and the page that they are added to. */
typedef struct Adding
{
	PlhPageServer *server;
	PlhServerAccount *account;	/* NULL: the caller does not see all */
	PlhSymbols *symbols;
	PlhSuppressions *suppressions;
} Adding;

/* PlhExplainedVisitor: add a process to the page of the server. */
static void
add_process(const PlhExplainedProcess *process, void *arg)
{
	Adding	   *adding = arg;

	plh_page_server_add(adding->server, process,
						explain(process, adding->symbols, adding->suppressions));
	if (adding->account != NULL)
		plh_server_account_add(adding->account, process->pid, process->backend_type,
							   process->application_name, process->image);
}

static Datum
page_of_server(FunctionCallInfo fcinfo)
{
	Adding		adding = {0};
	const char *words;
	StringInfoData json;
	PlhStatementList *statements;

	plh_sql_source_check_active();
	(void) plh_sql_source_publish_and_save();
	adding.server = plh_page_server_begin(list_length(plh_server_processes_list()),
										  GetCurrentTimestamp());
	adding.symbols = plh_symbols_open();
	adding.suppressions = plh_sql_source_suppressions(fcinfo);
	adding.account = plh_sql_explain_account(plh_sql_access_sees_all(), NULL);
	plh_sql_explain_visit(plh_sql_access_sees_all(), 0, add_process, &adding);
	words = plh_page_server_words(adding.server, adding.account);
	statements = plh_statement_list_read(plh_sql_access_may_see);
	plh_sql_kept_add_up(statements);
	initStringInfo(&json);
	plh_page_server_append(&json, adding.server, statements, adding.symbols,
						   plh_page_html_room(words));
	return page_of("PostgreSQL server", words, &json);
}

static Datum
return_page(FunctionCallInfo fcinfo)
{
	PlhTarget	target = plh_sql_source_target(fcinfo, 2);

	return target.all ? page_of_server(fcinfo) : page_of_one(fcinfo, &target);
}

/*
 * pg_leakhunt_page(target, redact): one file of HTML.
 */
Datum
pg_leakhunt_page(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, return_page);
}
