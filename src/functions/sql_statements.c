/*
 * sql_statements.c
 *	  The functions of SQL about what statements took, over all sessions.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "base/guard.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_kept.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "profile/statement_entries.h"
#include "profile/statements_file.h"
#include "reader/database_text.h"
#include "reader/statement_list.h"
#include "report/shared_function.h"

PLH_FUNCTION(pg_leakhunt_statements);
PLH_FUNCTION(pg_leakhunt_statements_reset);

static void
put_statement(const PlhListedStatement *listed, const PlhProfileImage *image,
			  PlhStackTexts *texts, PlhRowSink *sink)
{
	const PlhStatementEntry *entry = &listed->entry;
	const PlhStackRecord *stack = plh_profile_image_stack(image, listed->stack);
	PlhListedSite site = {.has_stack = stack != NULL};
	int			shared_percent = 0;
	const char *shared_frame = plh_shared_function_of_statement(listed, image, texts,
																&shared_percent);
	PlhRow		row = {0};

	if (stack != NULL)
		plh_stack_text_describe(texts, stack, &site.stack);

#include "functions/columns/statements.def"
	plh_sql_rows_finish(&row, sink);
}

static void
report_no_file(void)
{
	ereport(NOTICE, (errmsg("pg_leakhunt does not keep what statements take"),
					 plh_load_settings.max_statements == 0 ?
					 errdetail("pg_leakhunt.max_statements is 0.") :
					 errdetail("There was no room for their file in \"%s\".",
							   plh_profile_directory_path())));
}

Datum
pg_leakhunt_statements(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	PlhStatementList *list;
	PlhStackTexts *texts;
	ListCell   *cell;

	plh_sql_rows_start(fcinfo, &sink);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	if (plh_statements_file == NULL)
		report_no_file();
	list = plh_statement_list_read(plh_sql_access_may_see);
	plh_sql_kept_add_up(list);
	texts = plh_stack_text_open(plh_sql_rows_symbols(&sink), list->image);
	foreach(cell, list->statements)
	{
		CHECK_FOR_INTERRUPTS();
		put_statement(lfirst(cell), list->image, texts, &sink);
	}
	return (Datum) 0;
}

/*
 * pg_leakhunt_statements_reset(userid, dbid, query_id): forget statements, as
 * pg_stat_statements_reset does.
 */
Datum
pg_leakhunt_statements_reset(PG_FUNCTION_ARGS)
{
	bool		was_held;
	bool		done;

	plh_sql_rows_check_arguments(fcinfo, 3);
	plh_sql_source_check_active();
	if (plh_statements_file == NULL)
		PG_RETURN_VOID();
	was_held = plh_guard_take();
	done = plh_statement_entries_reset(PG_GETARG_OID(0), PG_GETARG_OID(1),
									   (uint64) PG_GETARG_INT64(2));
	plh_guard_restore(was_held);
	if (!done)
		ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						errmsg("could not lock the file of statements"),
						errdetail("Another process holds its lock, and seems to be stopped."),
						errhint("Try again.")));
	PG_RETURN_VOID();
}
