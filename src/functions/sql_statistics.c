/*
 * sql_statistics.c
 *	  The function of SQL that explains what a text says of memory: statistics of memory contexts,
 *	  messages of a log, reports of the kernel.
 *
 * The text is the caller's, and no process is looked at: everybody may call it.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "functions/sql_format.h"
#include "functions/sql_rows.h"
#include "statistics/log_explanation.h"

/* So much is read before a cancel is looked for. */
#define PIECE_BYTES (1024 * 1024)

PLH_FUNCTION(pg_leakhunt_explain_contexts);

/* Read a text, in the current memory context. */
static PlhLogReading *
read_statistics(const text * statistics)
{
	PlhLogReading *reading = palloc(sizeof(PlhLogReading));
	const char *data = VARDATA_ANY(statistics);
	Size		bytes = VARSIZE_ANY_EXHDR(statistics);

	plh_log_reading_begin(reading, false);
	for (Size at = 0; at < bytes; at += PIECE_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		plh_log_reading_add(reading, data + at, Min(bytes - at, PIECE_BYTES));
	}
	plh_log_reading_end(reading);
	return reading;
}

static Datum
explain_contexts(FunctionCallInfo fcinfo)
{
	bool		as_json;
	PlhLogReading *reading;
	StringInfoData json;
	PlhSaid		said;

	plh_sql_rows_check_arguments(fcinfo, 3);
	as_json = plh_sql_format_is_json(fcinfo, 1);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	reading = read_statistics(PG_GETARG_TEXT_PP(0));
	if (as_json)
	{
		initStringInfo(&json);
		plh_log_explanation_put(&json, reading, GetDatabaseEncoding());
		PG_RETURN_TEXT_P(cstring_to_text_with_len(json.data, json.len));
	}
	plh_log_explanation_say(&said, reading, GetDatabaseEncoding());
	PG_RETURN_TEXT_P(cstring_to_text_with_len(said.text.data, said.text.len));
}

/*
 * pg_leakhunt_explain_contexts(statistics, format, redact): a paragraph on each statistics, and on
 * each message about memory
 */
Datum
pg_leakhunt_explain_contexts(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, explain_contexts);
}
