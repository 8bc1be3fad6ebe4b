/*
 * sql_overview.c
 *	  The function of SQL behind the view that people ask first: who is suspect of what, and what
 *	  to do, in lines that fit a terminal.
 */
#include "postgres.h"

#include "base/compat.h"
#include "functions/sql_explain.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "reader/database_text.h"
#include "report/one_line.h"
#include "report/words.h"
#include "report/wrapped_text.h"
#include "telling/overview.h"

/*
 * The widths of columns of text: with those of a pid of 7 digits, the longest verdict, "10239 MB",
 * and what psql puts between columns, a line has 100.
 */
#define WHAT_COLUMNS 20
#define WHO_COLUMNS 14
#define STEP_COLUMNS 26

/* No name, however long it is, makes a row fill the screen. */
#define MOST_LINES 10

PLH_FUNCTION(pg_leakhunt_overview);

/* The sink of the rows, and what is found so far. */
typedef struct Search
{
	PlhRowSink	sink;
	PlhSuppressions *suppressions;
	PlhOverview overview;
} Search;

/* PlhExplainedVisitor: the findings of a process. */
static void
enter(const PlhExplainedProcess *process, void *arg)
{
	Search	   *search = arg;

	plh_overview_enter(&search->overview, process,
					   plh_explanation_make(process, plh_sql_rows_symbols(&search->sink),
											search->suppressions), search->sink.memory);
}

/* A name may have line breaks: only ours are to be in a column. */
static const char *
in_lines(const char *text, int columns)
{
	const char *line = plh_one_line(plh_database_text_fit(text), columns * MOST_LINES);

	return plh_wrapped_text(line, columns, MOST_LINES);
}

static void
put_row(const PlhOverviewRow *listed, PlhRowSink *sink)
{
	PlhRow		row = {0};

#include "functions/columns/pg_leakhunt.def"
	plh_sql_rows_finish(&row, sink);
}

/* The rows of the view pg_leakhunt, in its order. */
Datum
pg_leakhunt_overview(PG_FUNCTION_ARGS)
{
	Search		search = {0};
	ListCell   *cell;

	plh_sql_rows_start(fcinfo, &search.sink);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	search.suppressions = plh_sql_source_suppressions(fcinfo);
	search.overview.sees_all = search.sink.sees_all;
	plh_sql_explain_visit(search.sink.sees_all, 0, enter, &search);
	foreach(cell, plh_overview_rows(&search.overview))
		put_row(lfirst(cell), &search.sink);
	return (Datum) 0;
}
