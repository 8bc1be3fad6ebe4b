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
#include "functions/sql_rows.h"
#include "functions/sql_suppressions.h"
#include "profile/site_facts.h"
#include "reader/profile_reader.h"
#include "reader/server_activity.h"
#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "verdict/image_suspects.h"
#include "verdict/suppression.h"
#include "verdict/suspect_evidence.h"

#define SUSPECT_COLUMNS 19
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

/* The columns live_bytes, growth_bytes, bytes_per_hour, survival and epochs. */
static void
put_figures(PlhRow *row, const PlhSuspect *suspect)
{
	const PlhSuspectFacts *facts = &suspect->facts;

	plh_sql_rows_put_int64(row, facts->live_bytes);
	if (facts->has_baseline)
		plh_sql_rows_put_int64(row, facts->growth_bytes);
	else
		plh_sql_rows_put_null(row);
	if (suspect->judgement.has_rate)
		plh_sql_rows_put_int64(row, suspect->judgement.bytes_per_hour);
	else
		plh_sql_rows_put_null(row);
	if (suspect->site == NULL || suspect->context != NULL)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_survival(row, facts->live_bytes, facts->total_bytes);
	plh_sql_rows_put_int64(row, facts->epochs);
}

/* The columns context_name and site, and those of the statement. */
static void
put_place(PlhRow *row, const PlhSuspect *suspect, const PlhListedSite *listed,
		  const PlhProfileImage *image)
{
	if (listed != NULL)
	{
		plh_sql_rows_put_text(row, listed->context_name);
		plh_sql_rows_put_text(row, listed->stack.site);
		plh_sql_rows_put_query(row, listed);
		return;
	}
	plh_sql_rows_put_text(row, plh_image_suspects_contexts(suspect, image));
	plh_sql_rows_put_nulls(row, 3);
}

/* The evidence, with what only other files tell, and the next step. */
static const char *
evidence_of(const PlhSuspect *suspect, const PlhProfileImage *image,
			PlhRowSink *sink)
{
	const char *next = plh_suspect_evidence_next(&suspect->facts,
												 &suspect->judgement,
												 image);
	const char *evidence = plh_suspect_evidence(&suspect->facts,
												&suspect->judgement,
												image);

	if (suspect->judgement.verdict == PLH_VERDICT_MALLOC &&
		suspect->site == NULL && image->alive)
		evidence = psprintf("%s %s", evidence,
							plh_malloc_callers_text(image->header->pid,
													plh_sql_rows_symbols(sink)));
	return psprintf("%s Next: %s", evidence, next);
}

/*
 * The column application_name: the one of now, or that of a process that is gone.
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
 * One row of pg_leakhunt_suspects; "listed" is NULL if it is not about a site.
 */
static void
put_suspect(const PlhSuspect *suspect, const PlhListedSite *listed,
			const PlhProfileImage *image, PlhRowSink *sink)
{
	const PlhJudgement *judgement = &suspect->judgement;
	const PlhProfileHeader *header = image->header;
	PlhRow		row = {0};

	plh_sql_rows_put_pid(&row, header->pid);
	plh_sql_rows_put_backend_type(&row, image);
	plh_sql_rows_put_role(&row, header->role_oid);
	plh_sql_rows_put_database(&row, header->database_oid);
	put_application(&row, image);
	plh_sql_rows_put_datum(&row,
						   Float8GetDatum(rint(100 * judgement->score) / 100));
	plh_sql_rows_put_text(&row, plh_suspect_verdict_name(judgement->verdict));
	put_place(&row, suspect, listed, image);
	put_figures(&row, suspect);
	plh_sql_rows_put_text(&row, evidence_of(suspect, image, sink));
	if (listed != NULL)
		plh_sql_rows_put_frames(&row, listed);
	else
		plh_sql_rows_put_null(&row);
	plh_sql_rows_put_state(&row, image);
	plh_sql_rows_finish(&row, sink);
}

/* PlhProfileVisitor: the suspects of a process that are not suppressed. */
static void
put_suspects(PlhProfileImage *image, void *arg)
{
	Search	   *search = arg;
	PlhStackTexts *texts;
	PlhSuspectList *list;

	list = plh_image_suspects_find(image);
	if (list->count == 0)
		return;
	texts = plh_stack_text_open(plh_sql_rows_symbols(&search->sink), image);
	for (int i = 0; i < list->count; i++)
	{
		const PlhSuspect *suspect = &list->suspects[i];
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		if (suspect->site == NULL)
			put_suspect(suspect, NULL, image, &search->sink);
		else if (plh_image_suspects_describe(suspect, image, texts,
											 search->suppressions, &listed))
			put_suspect(suspect, &listed, image, &search->sink);
	}
}

/*
 * The rows of pg_leakhunt_suspects.
 */
Datum
pg_leakhunt_suspects(PG_FUNCTION_ARGS)
{
	Search		search = {0};

	if (!plh_sql_rows_start(fcinfo, &search.sink, SUSPECT_COLUMNS))
		return (Datum) 0;
	search.suppressions = plh_sql_suppressions_read(fcinfo);
	plh_sql_rows_visit(&search.sink, put_suspects, &search);
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
	bool		active = plh_sql_rows_start(fcinfo, &search.sink,
											SUPPRESSED_COLUMNS);
	int			count;

	search.suppressions = plh_sql_suppressions_read(fcinfo);
	count = search.suppressions->count;
	search.matched = palloc0(sizeof(Matched) * Max(count, 1));
	if (active && count > 0)
		plh_sql_rows_visit(&search.sink, count_suppressed, &search);
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
