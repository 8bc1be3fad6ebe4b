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
#include "report/debug_packages.h"
#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "telling/image_suspects.h"
#include "telling/malloc_statement.h"
#include "telling/share_text.h"
#include "telling/suppression.h"
#include "telling/suspect_advice.h"
#include "telling/suspect_evidence.h"

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
put_verdict(PlhRow *row, const PlhSuspect *suspect)
{
	const PlhJudgement *judgement = &suspect->judgement;

	plh_sql_rows_put_text(row, plh_suspect_verdict_name(judgement->verdict));
	plh_sql_rows_put_int64(row, suspect->facts.live_bytes);
	plh_sql_rows_put_if(row, judgement->has_rate, judgement->bytes_per_hour);
}

/* The columns growth_bytes and since. */
static void
put_growth(PlhRow *row, const PlhSuspectFacts *facts)
{
	if (!facts->has_baseline)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_int64(row, facts->growth_bytes);
	plh_sql_rows_put_time(row, facts->baseline_at);
}

/* The columns score, survival and transactions. */
static void
put_course(PlhRow *row, const PlhSuspect *suspect)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	double		score = rint(100 * suspect->judgement.score) / 100;

	plh_sql_rows_put_datum(row, Float8GetDatum(score));
	if (facts->subject != PLH_SUBJECT_SITE)
	{
		plh_sql_rows_put_nulls(row, 2);
		return;
	}
	plh_sql_rows_put_survival(row, facts->live_bytes, facts->total_bytes);

	/* of several sites together, the sum may count a transaction twice */
	plh_sql_rows_put_int64(row, Min(facts->transactions, facts->epochs));
}

/* What the rows of one process are made with. */
typedef struct Judged
{
	const PlhProfileImage *image;
	PlhSuspectList *list;
	PlhStackTexts *texts;
	PlhRowSink *sink;
} Judged;

/* Who calls a site without a name; "" where it has one. */
static const char *
caller_text(const PlhListedSite *listed)
{
	return listed == NULL || !plh_blamed_code_lacks_name(&listed->stack) ? "" :
		psprintf(" The site is %s.", plh_blamed_code_site(&listed->stack));
}

/* How to get the name of a site, which one row of an answer says; else "". */
static const char *
names_text(const PlhListedSite *listed, PlhRowSink *sink)
{
	const char *path = listed == NULL ? NULL : plh_blamed_code_nameless(&listed->stack);
	PlhSystem	here = plh_debug_packages_here();

	if (path == NULL || sink->names_are_told)
		return "";
	sink->names_are_told = true;
	path = plh_database_text_fit(path);
	return psprintf("\n%s", plh_debug_packages_text(&here, &path, 1));
}

/* The evidence, with what only other files tell, and the next step. */
static const char *
evidence_of(const PlhSuspect *suspect, const PlhListedSite *named,
			const PlhMallocStatement *statement, const Judged *judged)
{
	const PlhProfileImage *image = judged->image;
	const char *evidence = plh_suspect_evidence(suspect, judged->list, image,
												judged->texts);
	const char *libraries = "";

	if (suspect->judgement.verdict == PLH_VERDICT_MALLOC &&
		suspect->site == NULL && image->alive)
		libraries = psprintf(" %s", plh_malloc_callers_text(image->header->pid,
															plh_sql_rows_symbols(judged->sink)));
	return psprintf("%s%s%s%s Next: %s%s", evidence, statement->evidence, libraries,
					caller_text(named),
					plh_suspect_advice(suspect, image, named, statement),
					names_text(named, judged->sink));
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
 * One row of pg_leakhunt_suspects; "listed" is NULL if it is not about a site.
 */
static void
put_suspect(const PlhSuspect *suspect, const PlhListedSite *listed,
			const Judged *judged)
{
	const PlhProfileImage *image = judged->image;
	const PlhProfileHeader *header = image->header;
	PlhMallocStatement statement = plh_malloc_statement_find(suspect, image);
	const PlhListedSite *named = listed != NULL &&
		plh_share_text_names_site(suspect, image, judged->texts) ? listed : NULL;
	PlhRow		row = {0};

	plh_sql_rows_put_pid(&row, header->pid);
	put_verdict(&row, suspect);
	if (named != NULL)
		plh_sql_rows_put_site(&row, named);
	else
		plh_sql_rows_put_nulls(&row, 2);
	plh_sql_rows_put_text(&row, plh_image_suspects_contexts(suspect, named, image));
	put_application(&row, image);
	plh_sql_rows_put_role(&row, header->role_oid);
	plh_sql_rows_put_database(&row, header->database_oid);
	plh_sql_rows_put_text(&row, listed == NULL ? statement.query : listed->query);
	plh_sql_rows_put_state(&row, image);
	put_growth(&row, &suspect->facts);
	put_course(&row, suspect);
	plh_sql_rows_put_query_id(&row, listed == NULL ? statement.query_id : listed->query_id);
	plh_sql_rows_put_backend_type(&row, image);
	plh_sql_rows_put_text(&row, evidence_of(suspect, named, &statement, judged));
	if (named != NULL)
		plh_sql_rows_put_frames(&row, named);
	else
		plh_sql_rows_put_null(&row);
	plh_sql_rows_finish(&row, judged->sink);
}

/* PlhProfileVisitor: the suspects of a process that are not suppressed. */
static void
put_suspects(PlhProfileImage *image, void *arg)
{
	Search	   *search = arg;
	Judged		judged = {.image = image,.sink = &search->sink};

	judged.list = plh_image_suspects_find(image);
	if (judged.list->count == 0)
		return;
	judged.texts = plh_stack_text_open(plh_sql_rows_symbols(&search->sink), image);
	for (int i = 0; i < judged.list->count; i++)
	{
		const PlhSuspect *suspect = &judged.list->suspects[i];
		PlhListedSite listed;

		CHECK_FOR_INTERRUPTS();
		if (suspect->site == NULL)
			put_suspect(suspect, NULL, &judged);
		else if (plh_image_suspects_describe(suspect, image, judged.texts,
											 search->suppressions,
											 &listed) == PLH_SHOWN)
			put_suspect(suspect, &listed, &judged);
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
	plh_sql_access_visit(search.sink.sees_all, 0, put_suspects, &search);
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
