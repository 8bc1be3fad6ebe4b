/*
 * sql_suspects.c
 *	  The functions of SQL that show suspects, and what is suppressed.
 *
 * Suspects are judged before anything is described: names of functions are
 * looked up for the few stacks that are shown.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "functions/sql_suppressions.h"
#include "profile/site_facts.h"
#include "reader/database_text.h"
#include "reader/server_activity.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "telling/image_findings.h"
#include "telling/sentences.h"
#include "telling/suppression.h"
#include "telling/told_finding.h"

#define SUSPECT_COLUMNS 21
#define SUPPRESSED_COLUMNS 6

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

/* The columns verdict, bytes and bytes_per_hour. */
static void
put_verdict(PlhRow *row, const PlhToldFinding *told)
{
	plh_sql_rows_put_text(row, told->verdict);
	plh_sql_rows_put_int64(row, told->finding->bytes);
	plh_sql_rows_put_if(row, told->finding->rate.is_known,
						told->finding->rate.bytes_per_hour);
}

/* The columns growth_bytes and since. */
static void
put_growth(PlhRow *row, const PlhFinding *finding)
{
	if (!finding->has_baseline)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_int64(row, finding->growth_bytes);
	plh_sql_rows_put_time(row, finding->baseline_at);
}

/* The columns score, survival and transactions. */
static void
put_course(PlhRow *row, const PlhFinding *finding)
{
	plh_sql_rows_put_datum(row, Float8GetDatum(rint(100 * finding->score) / 100));
	if (plh_finding_subject(finding) != PLH_SUBJECT_SITE)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_survival(row, finding->bytes, finding->sites.total_bytes);

	/* of several sites together, the sum may count a transaction twice */
	plh_sql_rows_put_int64(row, Min(finding->sites.transactions, finding->sites.epochs));
}

/* How to get the name of a site, which one row of an answer says; else "". */
static const char *
names_text(const PlhListedSite *listed, PlhRowSink *sink)
{
	const char *path = listed == NULL ? NULL : plh_blamed_code_nameless(&listed->stack);

	if (path == NULL || sink->names_are_told)
		return "";
	sink->names_are_told = true;
	path = plh_database_text_fit(path);
	return psprintf("\n%s", plh_blamed_code_names_hint(&path, 1));
}

/* The column evidence: who calls a site without a name, the next step, and names. */
static void
put_evidence(PlhRow *row, const PlhToldFinding *told, PlhRowSink *sink)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, told->evidence);
	if (told->named != NULL && plh_blamed_code_lacks_name(&told->named->stack))
		PLH_SAY(&text, true, site_is,.site = told->site_words);
	PLH_SAY(&text, true, next,.next = told->next);
	appendStringInfoString(&text, names_text(told->named, sink));
	plh_sql_rows_put_text(row, text.data);
}

/*
 * The column application_name: the present name, or the last one of a process that is
 * gone.
 */
static void
put_application(PlhRow *row, const PlhProfileImage *image)
{
	PlhServerActivity activity;

	if (image->alive &&
		plh_server_activity_find(image->header->pid, &activity))
		plh_sql_rows_put_text(row, activity.application_name);
	else
		plh_sql_rows_put_application(row, image);
}

/*
 * One row of pg_leakhunt_suspects.
 */
static void
put_finding(const PlhToldFinding *told, const PlhProfileImage *image, PlhRowSink *sink)
{
	const PlhProfileHeader *header = image->header;
	PlhRow		row = {0};

	plh_sql_rows_put_pid(&row, header->pid);
	put_verdict(&row, told);
	plh_sql_rows_put_text(&row, told->site);
	plh_sql_rows_put_text(&row, told->routine);
	plh_sql_rows_put_text(&row, told->context_name);
	put_application(&row, image);
	plh_sql_rows_put_role(&row, header->role_oid);
	plh_sql_rows_put_database(&row, header->database_oid);
	plh_sql_rows_put_text(&row, told->query);
	plh_sql_rows_put_state(&row, image);
	put_growth(&row, told->finding);
	put_course(&row, told->finding);
	plh_sql_rows_put_query_id(&row, told->query_id);
	plh_sql_rows_put_backend_type(&row, image);
	put_evidence(&row, told, sink);
	if (told->named != NULL)
		plh_sql_rows_put_frames(&row, told->named);
	else
		plh_sql_rows_put_null(&row);
	plh_sql_rows_finish(&row, sink);
}

/* PlhProfileVisitor: the findings on a process that are not suppressed. */
static void
put_findings(PlhProfileImage *image, void *arg)
{
	Search	   *search = arg;
	PlhSymbols *symbols = plh_sql_rows_symbols(&search->sink);
	PlhFoundIn	in = {.image = image,.findings = plh_image_findings_find(image),.symbols = symbols};

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

/*
 * The rows of pg_leakhunt_suspects.
 */
Datum
pg_leakhunt_suspects(PG_FUNCTION_ARGS)
{
	Search		search = {0};

	plh_sql_rows_start(fcinfo, &search.sink, SUSPECT_COLUMNS);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	search.suppressions = plh_sql_suppressions_read(fcinfo);
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

	plh_sql_rows_start(fcinfo, &search.sink, SUPPRESSED_COLUMNS);
	active = plh_sql_source_publish_and_save();
	search.suppressions = plh_sql_suppressions_read(fcinfo);
	count = search.suppressions->count;
	search.matched = palloc0(sizeof(Matched) * Max(count, 1));
	if (active && count > 0)
		plh_sql_access_visit(search.sink.sees_all, 0, count_suppressed, &search);
	for (int i = 0; i < count; i++)
	{
		const Matched *matched = &search.matched[i];
		PlhRow		row = {0};

		plh_sql_rows_put_text(&row, search.suppressions->entries[i].given);
		plh_sql_rows_put_text(&row, search.suppressions->entries[i].reason);
		plh_sql_rows_put_int64(&row, matched->sites);
		plh_sql_rows_put_int64(&row, matched->processes);
		plh_sql_rows_put_int64(&row, matched->live_bytes);
		plh_sql_rows_put_int64(&row, matched->live_count);
		plh_sql_rows_finish(&row, &search.sink);
	}
	return (Datum) 0;
}
