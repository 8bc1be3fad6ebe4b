/*
 * sql_suspects.c
 *	  The functions of SQL that show suspects, and what is suppressed.
 *
 * Suspects are judged before anything is described: names of functions are looked up for the few
 * stacks that are shown.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "profile/site_facts.h"
#include "reader/database_text.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/wrapped_text.h"
#include "telling/image_findings.h"
#include "telling/proven_evidence.h"
#include "telling/suppression.h"
#include "telling/told_finding.h"

/* The columns of a line of sentences: with the longest name of a column, 80. */
#define LINE_COLUMNS 60

PLH_FUNCTION(pg_leakhunt_suspects);
PLH_FUNCTION(pg_leakhunt_suppressed);

/* The sites that a suppression matches, in all processes. */
typedef struct Matched
{
	int64		sites;
	int64		processes;
	int64		live_bytes;
	int64		live_count;
} Matched;

/* The sink of the rows, and the suppressions that sites are compared with. */
typedef struct Search
{
	PlhRowSink	sink;
	PlhSuppressions *suppressions;
	Matched    *matched;		/* by suppression */
} Search;

/* In lines that psql shows beside the names of the columns in a terminal of 80. */
static const char *
in_lines(const char *text)
{
	return plh_wrapped_text(plh_database_text_fit(text), LINE_COLUMNS, 0);
}

/* The column query; NULL where it is not known. */
static const char *
query_of(const PlhToldFinding *told)
{
	return told->query == NULL ? NULL :
		plh_wrapped_text_statement(plh_database_text_fit(told->query), LINE_COLUMNS);
}

/* The column stack: each frame has a line. */
static const char *
stack_of(const PlhListedSite *listed)
{
	StringInfoData lines;

	if (listed == NULL || !listed->has_stack)
		return NULL;
	initStringInfo(&lines);
	for (int i = 0; i < listed->stack.frame_count; i++)
		appendStringInfo(&lines, "%s%s", i == 0 ? "" : "\n", listed->stack.frames[i].text);
	return lines.data;
}

/* The column evidence; one row of an answer has how to see names that are missing. */
static const char *
evidence_of(const PlhToldFinding *told, PlhRowSink *sink)
{
	const char *text = plh_told_finding_row_text(told);
	const char *path = plh_told_finding_nameless(told);

	if (path != NULL && !sink->names_are_told)
	{
		sink->names_are_told = true;
		text = psprintf("%s\n%s", text, plh_blamed_code_names_hint(&path, 1));
	}
	return in_lines(text);
}

static void
put_finding(const PlhToldFinding *told, const PlhProfileImage *image, PlhRowSink *sink)
{
	const PlhProfileHeader *header = image->header;
	const PlhFinding *finding = told->finding;
	const PlhProven *proven = plh_proven_evidence_of(finding);
	bool		is_of_site = plh_finding_subject(finding) == PLH_SUBJECT_SITE;
	int64		transactions = 0;
	PlhRow		row = {0};

	/* of several sites together, the sum may count a transaction twice */
	if (is_of_site)
		transactions = Min(finding->sites.transactions, finding->sites.epochs);
#include "functions/columns/suspects.def"
	plh_sql_rows_finish(&row, sink);
}

/* PlhProfileVisitor: the findings on a process that are not suppressed. */
static void
put_findings(PlhProfileImage *image, void *arg)
{
	Search	   *search = arg;
	PlhSymbols *symbols = plh_sql_rows_symbols(&search->sink);
	PlhFoundIn	in = {
		.image = image,.findings = plh_image_findings_find(image, symbols),.symbols = symbols
	};

	if (in.findings->count == 0)
		return;
	in.stacks = plh_stack_text_open(symbols, image);
	for (int i = 0; i < in.findings->count; i++)
	{
		const PlhFinding *finding = &in.findings->list[i];
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		if (finding->site == NULL)
			put_finding(plh_told_finding_make(finding, NULL, &in), image, &search->sink);
		else if (plh_image_findings_describe(finding, image, in.stacks,
											 search->suppressions, &listed) == PLH_SHOWN)
			put_finding(plh_told_finding_make(finding, &listed, &in), image, &search->sink);
	}
}

Datum
pg_leakhunt_suspects(PG_FUNCTION_ARGS)
{
	Search		search = {0};

	plh_sql_rows_start(fcinfo, &search.sink);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	search.suppressions = plh_sql_source_suppressions(fcinfo);
	plh_sql_access_visit(search.sink.sees_all, 0, put_findings, &search);
	return (Datum) 0;
}

/* Count a site for each suppression that matches it. */
static void
count_site(Search *search, const PlhListedSite *listed, bool *is_matched)
{
	for (int i = 0; i < search->suppressions->count; i++)
	{
		Matched    *matched = &search->matched[i];

		if (!plh_suppression_matches(&search->suppressions->entries[i],
									 listed->context_name, &listed->stack))
			continue;
		is_matched[i] = true;
		matched->sites++;
		matched->live_bytes += listed->bytes;
		matched->live_count += listed->count;
	}
}

/* PlhProfileVisitor: count the sites of a process that are suppressed. */
static void
count_suppressed(PlhProfileImage *image, void *arg)
{
	Search	   *search = arg;
	bool	   *is_matched;
	PlhStackTexts *texts;
	PlhSiteFacts facts;
	uint32		position = 0;

	is_matched = palloc0(sizeof(bool) * search->suppressions->count);
	texts = plh_stack_text_open(plh_sql_rows_symbols(&search->sink), image);
	while (plh_site_facts_next(&facts, image, NULL, &position))
	{
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		plh_listed_site_start(&listed, image, &facts);
		plh_listed_site_describe_stack(&listed, texts);
		count_site(search, &listed, is_matched);
		pfree(listed.stack.frames);
	}
	for (int i = 0; i < search->suppressions->count; i++)
		search->matched[i].processes += is_matched[i];
}

/*
 * The rows of pg_leakhunt_suppressed: what each suppression matches.
 */
Datum
pg_leakhunt_suppressed(PG_FUNCTION_ARGS)
{
	Search		search = {0};
	bool		active;
	int			count;

	plh_sql_rows_start(fcinfo, &search.sink);
	active = plh_sql_source_publish_and_save();
	search.suppressions = plh_sql_source_suppressions(fcinfo);
	count = search.suppressions->count;
	search.matched = palloc0(sizeof(Matched) * Max(count, 1));
	if (active && count > 0)
		plh_sql_access_visit(search.sink.sees_all, 0, count_suppressed, &search);
	for (int i = 0; i < count; i++)
	{
		const PlhSuppression *suppression = &search.suppressions->entries[i];
		const Matched *matched = &search.matched[i];
		PlhRow		row = {0};

#include "functions/columns/suppressed.def"
		plh_sql_rows_finish(&row, &search.sink);
	}
	return (Datum) 0;
}
