/*
 * sql_page.c
 *	  The function of SQL that makes a page of a process, a dump or the server.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "functions/sql_arguments.h"
#include "functions/sql_explained.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "page/page_html.h"
#include "page/page_process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/statement_list.h"

PLH_FUNCTION(pg_leakhunt_page);

/* The page of a process of which all is known but what is computed of it. */
static Datum
page_of(FunctionCallInfo fcinfo, PlhExplainedProcess *process, const char *file)
{
	PlhPageSource source = {.process = process,.file = file};
	StringInfoData json;
	StringInfoData output;

	source.symbols = plh_symbols_open();
	source.explanation = plh_explanation_make(process, source.symbols,
											  plh_sql_suppressions_read(fcinfo));
	source.list = plh_site_list_make(source.symbols, process->image,
									 process->baseline, process->now);
	initStringInfo(&json);
	plh_page_process_append(&json, &source,
							plh_page_html_room(source.explanation->text));
	initStringInfo(&output);
	plh_page_html_append(&output, plh_page_process_title(&source),
						 source.explanation->text, &json);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(output.data, output.len));
}

/* pg_leakhunt_page(pid) */
static Datum
page_of_process(FunctionCallInfo fcinfo)
{
	int			pid = plh_sql_rows_get_pid(fcinfo, 0);
	const PlhProfileImage *image = plh_sql_source_process(pid, ERROR);
	PlhExplainedProcess process = {
		.pid = pid,
		.image = image,
		.loaded = PLH_LOADED,
		.baseline = plh_baseline_file_read(plh_profile_directory_path(), image)
	};

	plh_sql_explained_identify(&process, image->header->role_oid,
							   image->header->database_oid);
	plh_sql_explained_find_largest(&process, plh_statement_list_peaks());
	return page_of(fcinfo, &process, NULL);
}

/* pg_leakhunt_page(file) */
static Datum
page_of_dump(FunctionCallInfo fcinfo)
{
	const char *file;
	PlhExplainedProcess process = {0};

	plh_sql_rows_check_not_null(fcinfo, 0, "file");
	file = plh_sql_arguments_text(fcinfo, 0);
	plh_sql_explained_identify_dump(&process, plh_sql_source_dump(file, false));
	return page_of(fcinfo, &process, plh_stack_text_base_name(file));
}

/*
 * pg_leakhunt_page(pid), and with file: one file of HTML.
 */
Datum
pg_leakhunt_page(PG_FUNCTION_ARGS)
{
	plh_sql_rows_check_arguments(fcinfo, 1);
	if (!plh_sql_source_names_process(fcinfo))
		return page_of_dump(fcinfo);
	plh_sql_source_check_active();
	return page_of_process(fcinfo);
}
