/*
 * explanation.c
 *	  What a DBA would say of a process, in a few sentences.
 *
 * size_sentences.c has those on its size, and doubt.c those on why there is no verdict.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/suspect.h"
#include "process/top_site.h"
#include "profile/shared_frames.h"
#include "profile/site_facts.h"
#include "profile/statement_tokens.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/blamed_code.h"
#include "report/context_list.h"
#include "report/listed_site.h"
#include "report/one_line.h"
#include "report/shared_function.h"
#include "report/words.h"
#include "telling/advice.h"
#include "telling/age_text.h"
#include "telling/contexts_evidence.h"
#include "telling/finding_evidence.h"
#include "telling/explanation.h"
#include "telling/function_shares.h"
#include "telling/holder_sentences.h"
#include "telling/image_findings.h"
#include "telling/moment.h"
#include "telling/size_sentences.h"

/* The number of findings of a process that are told; pg_leakhunt_suspects has all. */
#define TOLD_FINDINGS 3

/*
 * What is held at the largest site is about as much as at the peak if it is less by no more than
 * this part.
 */
#define STILL_PART 4

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 150

/* Contexts that have this part of all are told of beside verdicts on others. */
#define LARGE_PART 4

/* What the sentences are made of. */
typedef struct Telling
{
	const PlhExplainedProcess *process;
	PlhSymbols *symbols;
	PlhStackTexts *stacks;		/* NULL without a profile */
	PlhCourse	course;			/* zeros without a history */
	PlhFindings *findings;		/* NULL without a profile */
	List	   *told;			/* of PlhToldFinding */
	int			hidden;			/* findings that are suppressed */
	const char *nameless;		/* path of a binary that names are missing of */
	const char *peak_query;		/* that was told with the peak; else NULL */
	TimestampTz told_peak_at;	/* 0: no peak was told */
	PlhSaid		said;
} Telling;

static void
tell_statement(Telling *telling, PlhSentence sentence, const char *query)
{
	plh_sentences_line(&telling->said, sentence, telling->process->image->alive,
					   PLH_FIELDS(.query = plh_one_line(query, STATEMENT_COLUMNS)));
}

/* The text of a statement of another database, without what is secret. */
static const char *
text_of(const char *text, uint32 bytes, int encoding)
{
	return plh_redaction_statement(plh_database_text_fit_foreign(text, bytes, encoding));
}

/* How old is what the largest finding at a single call site holds. */
static void
tell_ages(Telling *telling, const PlhToldFinding *told)
{
	const PlhProfileImage *image = telling->process->image;
	PlhSaid		ages;

	if (told != linitial(telling->told))
		return;
	plh_sentences_begin(&ages);
	plh_age_text_say(&ages, told->finding, image, image->alive ? telling->process->now :
					 plh_profile_image_ended_at(image->header));
	if (ages.begins != NIL)
		PLH_LINE(&telling->said, true, ages,.list = ages.text.data);
}

/* What the statement is that a finding shows. */
static PlhSentence
sentence_on_query(const PlhFinding *finding)
{
	bool		is_of_sites = plh_finding_subject(finding) == PLH_SUBJECT_SITE;
	const PlhFamilyAccount *family = plh_finding_family(finding);

	if (finding->kind == PLH_KIND_STATEMENT || (is_of_sites && finding->sites.statements > 1))
		return PLH_SAYS_query_holds_most;
	if (family != NULL && family->contexts > 1)
		return PLH_SAYS_query_such_as;
	return is_of_sites && finding->sites.transactions > 1 ? PLH_SAYS_query_of_form :
		PLH_SAYS_query_of_one;
}

/* Note where names are missing in what is told of a finding. */
static void
note_nameless(Telling *telling, const PlhToldFinding *told)
{
	if (telling->nameless == NULL)
		telling->nameless = plh_told_finding_nameless(told);
	if (telling->nameless == NULL && told->needs_names &&
		told->finding->kind == PLH_KIND_STATEMENT)
		telling->nameless = plh_function_shares_nameless(told->finding, telling->process->image,
														 telling->stacks);
}

/* Tell which functions in SQL or a procedural language allocated it, if any did. */
static void
tell_routines(Telling *telling, const PlhToldFinding *told)
{
	const char *routines = told->named == NULL ? NULL :
		plh_stack_text_routines(&told->named->stack);
	bool		is_one = plh_finding_subject(told->finding) == PLH_SUBJECT_SITE &&
		told->finding->sites.sites == 1;

	if (routines != NULL)
		plh_sentences_line(&telling->said, is_one ? PLH_SAYS_routines : PLH_SAYS_routines_most,
						   true, PLH_FIELDS(.routines = routines));
}

static void
tell_finding(Telling *telling, const PlhToldFinding *told)
{
	PLH_LINE(&telling->said, true, verdict,.verdict = told->verdict,.cause = told->cause);
	if (told->share[0] != '\0')
		appendStringInfo(&telling->said.text, " %s", told->share);
	PLH_LINE(&telling->said, true, evidence,.list = told->evidence);
	tell_ages(telling, told);
	tell_routines(telling, told);
	if (told->query != NULL)
		tell_statement(telling, sentence_on_query(told->finding), told->query);
	PLH_LINE(&telling->said, true, next,.next = told->next);
	note_nameless(telling, told);
}

/* All findings.  Returns how many there are. */
static int
tell_findings(Telling *telling, const PlhSuppressions *suppressions)
{
	const PlhFoundIn in = {
		telling->process->image, telling->findings, telling->stacks, telling->symbols
	};
	int			found = 0;

	for (int i = 0; i < telling->findings->count; i++)
	{
		const PlhFinding *finding = &telling->findings->list[i];
		PlhToldFinding *told;
		PlhListedSite listed;
		PlhShown	shown = finding->site == NULL ? PLH_SHOWN :
			plh_image_findings_describe(finding, telling->process->image,
										telling->stacks, suppressions, &listed);

		telling->hidden += shown == PLH_SUPPRESSED;
		if (shown != PLH_SHOWN || plh_moment_has_lost(telling->process, finding->bytes))
			continue;
		told = plh_told_finding_make(finding, finding->site == NULL ? NULL : &listed, &in);
		telling->told = lappend(telling->told, told);
		if (found++ < TOLD_FINDINGS)
			tell_finding(telling, told);
		told->named = NULL;		/* it does not outlive this turn */
	}
	if (found > TOLD_FINDINGS)
		PLH_LINE(&telling->said, true, more_findings,.count = found - TOLD_FINDINGS);
	if (telling->hidden > 0)
		PLH_LINE(&telling->said, true, hidden_findings,.count = telling->hidden);
	return found + telling->hidden;
}

/* What it holds now of all kinds, as far as the kernel tells. */
static int64
held_now(const PlhExplainedProcess *process)
{
	return plh_moment_own_bytes(process) -
		Max(0, process->image->header->malloc_free_bytes);
}

/* What samples stood for when that was most. */
typedef struct Peak
{
	PlhTopSite	top;			/* the largest site */
	bool		is_shared;		/* a function leads to most, and no site has
								 * it */
	PlhSharedFunction shared;
	int64		bytes;			/* of that function, or of the site */
	int64		error_bytes;
	const PlhStatementRecord *statement;	/* which had most, if much; or
											 * NULL */
	uint32		statements;		/* number of those that had some */
} Peak;

/* What a statement held at the peak. */
typedef struct StatementAtPeak
{
	const PlhStatementRecord *statement;	/* key: may be NULL */
	int64		bytes;
} StatementAtPeak;

/* Find the statement that had most of all sites at the peak, if that explains any of it. */
static void
find_statement_of_all(Peak *peak, const PlhProfileImage *image)
{
	HTAB	   *statements = plh_hash_table("pg_leakhunt statements at the peak",
											sizeof(PlhStatementRecord *), sizeof(StatementAtPeak));
	int64		most = 0;
	uint32		position = 0;
	PlhSiteFacts facts;

	peak->statements = 0;
	while (plh_site_facts_next(&facts, image, NULL, &position))
	{
		StatementAtPeak *at_peak;
		bool		found;

		if (facts.peak_bytes <= 0)
			continue;
		at_peak = hash_search(statements, &facts.statement, HASH_ENTER, &found);
		at_peak->bytes = facts.peak_bytes + (found ? at_peak->bytes : 0);
		peak->statements += !found;
		if (at_peak->bytes > most)
		{
			most = at_peak->bytes;
			peak->statement = facts.statement;
		}
	}
	hash_destroy(statements);
	if (most < PLH_NAMED_PART * peak->shared.all)
		peak->statement = NULL;
}

/* Find what was held then.  Returns false where nothing is known of it. */
static bool
find_peak(Peak *peak, const Telling *telling)
{
	const PlhProfileImage *image = telling->process->image;
	int64		bytes;

	if (!plh_top_site_find(&peak->top, image, PLH_TOP_PEAK))
		return false;
	peak->is_shared =
		plh_shared_function_of_peak(&peak->shared, image, telling->stacks) &&
		peak->top.bytes < PLH_SHARED_PART * peak->shared.all;
	if (!peak->is_shared && (peak->top.stack == NULL || peak->top.context == NULL))
		return false;
	bytes = peak->is_shared ? peak->shared.bytes : peak->top.bytes;
	peak->error_bytes = plh_sampling_most_error_bytes(bytes, image->header->sample_interval);
	peak->bytes = Min(bytes, plh_account_peak_bound(image->header));
	peak->statement = peak->top.statement;
	peak->statements = peak->top.statements;
	if (peak->is_shared)
		find_statement_of_all(peak, image);
	return true;
}

/* Is about as much held now at the largest site, in the same context? */
static bool
is_peak_held(const Peak *peak, const PlhProfileImage *image)
{
	PlhTopSite	now;

	return plh_top_site_find(&now, image, PLH_TOP_NOW) && now.context == peak->top.context &&
		now.bytes >= peak->bytes - peak->bytes / STILL_PART;
}

static PlhSentence
sentence_on_shared_peak(const PlhSharedFunction *shared)
{
	if (shared->is_site)
		return shared->has_more ? PLH_SAYS_peak_shared_site_least : PLH_SAYS_peak_shared_site;
	return shared->has_more ? PLH_SAYS_peak_shared_least : PLH_SAYS_peak_shared;
}

/* Tell which function leads to most of a peak. */
static void
tell_shared_peak(Telling *telling, const Peak *peak)
{
	const PlhSharedFunction *shared = &peak->shared;
	const PlhFields fields = {
		.ago = plh_size_sentences_ago(telling->process, telling->told_peak_at),
		.bytes = plh_words_estimate(peak->bytes, peak->error_bytes),
		.name = shared->site,
		.count = shared->is_site ? shared->ways : shared->places,
		.percent = psprintf("%.0f", plh_shared_function_percent(shared))
	};

	plh_sentences_line(&telling->said, sentence_on_shared_peak(shared),
					   telling->process->image->alive, &fields);
}

/* Tell which call site had most of a peak. */
static void
tell_site_of_peak(Telling *telling, const Peak *peak)
{
	const PlhProfileImage *image = telling->process->image;
	PlhStackText stack;

	plh_stack_text_describe(telling->stacks, peak->top.stack, &stack);
	PLH_LINE(&telling->said, image->alive, peak,
			 .ago = plh_size_sentences_ago(telling->process, telling->told_peak_at),
			 .bytes = plh_words_estimate(peak->bytes, peak->error_bytes),
			 .site = plh_blamed_code_site(&stack),
			 .context = plh_context_list_name(image, plh_profile_image_offset(image,
																			  peak->top.context)));
}

/*
 * What the process held when samples stood for most, where that is much more than now, at the
 * largest site of such contexts, too.
 */
static void
tell_peak(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	const PlhProfileImage *image = process->image;
	const PlhProfileHeader *header = image->header;
	double		fallen = (double) header->peak_bytes - (double) header->counters.live_bytes;
	Peak		peak;

	if (header->sample_interval == 0 || header->peak_at == 0 ||
		fallen < PLH_SUSPECT_LARGE_BYTES || !find_peak(&peak, telling) ||
		peak.bytes <= Max(header->context_bytes, held_now(process)) ||
		is_peak_held(&peak, image) ||
		peak.error_bytes >= peak.bytes) /* it may as well have been nothing */
		return;
	telling->told_peak_at = header->peak_at;
	if (header->own_peak_bytes > Max(peak.bytes, plh_moment_own_bytes(process)))
		PLH_LINE(&telling->said, image->alive, peak_counted,
				 .total = plh_words_size(header->own_peak_bytes),
				 .ago = plh_size_sentences_ago(process, header->own_peak_at));
	if (peak.is_shared)
		tell_shared_peak(telling, &peak);
	else
		tell_site_of_peak(telling, &peak);
	if (peak.statement == NULL || peak.statement->text_bytes == 0)
		return;
	telling->peak_query = text_of(peak.statement->text, peak.statement->text_bytes,
								  header->encoding);
	tell_statement(telling, peak.statements > 1 ? PLH_SAYS_peak_statement_most :
				   PLH_SAYS_peak_statement, telling->peak_query);
}

static bool
has_statement(const Telling *telling)
{
	for (int i = 0; i < telling->findings->count; i++)
		if (telling->findings->list[i].kind == PLH_KIND_STATEMENT)
			return true;
	return false;
}

static bool
is_told_peak(const Telling *telling, TimestampTz at)
{
	return telling->told_peak_at != 0 && labs(at - telling->told_peak_at) < USECS_PER_SEC;
}

/* What limited it: a plan only where most was in its nodes, such as sorts. */
static void
tell_allowed(Telling *telling, const PlhStatementEntry *largest)
{
	const PlhFamily *family = plh_family_of(largest->context_name);
	const PlhFields fields = {.bytes = plh_words_size(largest->allowed_bytes)};

	if (plh_statement_tokens_maintain(largest->text, largest->text_bytes))
		plh_sentences_line(&telling->said, PLH_SAYS_day_maintained, true, &fields);
	else if (family != NULL && family->kind == PLH_FAMILY_NODES)
		plh_sentences_line(&telling->said, PLH_SAYS_day_allowed, true, &fields);
}

/*
 * What the largest statement of the last day took, unless a finding has that, or the process holds
 * as much still: what a leak has left counts as the last statement's, too.
 */
static void
tell_largest(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	const PlhProfileHeader *header = process->image->header;
	const PlhStatementEntry *largest = process->largest;

	if (largest == NULL || largest->max_peak_bytes < PLH_SUSPECT_LARGE_BYTES ||
		largest->max_peak_bytes <= largest->error_bytes +
		Max(Max(header->context_bytes, held_now(process)), header->counters.live_bytes) ||
		has_statement(telling))
		return;
	if (!is_told_peak(telling, largest->max_at))
	{
		const char *query = text_of(largest->text, largest->text_bytes, largest->encoding);

		const PlhFields fields = {
			.bytes = plh_words_estimate(largest->max_peak_bytes, largest->error_bytes),
			.total = plh_words_size(largest->max_private_bytes),
			.ago = plh_size_sentences_ago(process, largest->max_at)
		};

		plh_sentences_line(&telling->said,
						   largest->max_private_bytes >= largest->max_peak_bytes ?
						   PLH_SAYS_day_peak_counted : PLH_SAYS_day_peak, true, &fields);
		if (telling->peak_query == NULL || strcmp(telling->peak_query, query) != 0)
			tell_statement(telling, PLH_SAYS_day_statement, query);
	}
	tell_allowed(telling, largest);
}

/* Does a finding on contexts tell what these are of? */
static bool
is_told_by_finding(const PlhFindings *findings, const PlhContextRecord *exemplified)
{
	for (int i = 0; i < findings->count; i++)
	{
		const PlhFamilyAccount *family = plh_finding_family(&findings->list[i]);

		if (family != NULL && family->exemplified == exemplified)
			return true;
	}
	return false;
}

/*
 * What the contexts are of that have most of what is known so.  Beside findings only that is told
 * which is a large part of the process.
 */
static void
tell_examples(Telling *telling)
{
	const PlhAccount *account = telling->findings->account;
	const PlhProfileImage *image = telling->process->image;
	PlhSaid		examples;

	plh_sentences_begin(&examples);
	for (int i = 0; i < account->family_count && examples.begins == NIL; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (!plh_contexts_evidence_say_examples(&examples, family->exemplified, image))
			continue;
		if (telling->findings->count == 0 ||
			(family->bytes >= image->header->context_bytes / LARGE_PART &&
			 !is_told_by_finding(telling->findings, family->exemplified)))
			PLH_LINE(&telling->said, true, contexts_are,.list = examples.text.data);
	}
}

/*
 * Beside findings that are as of the last count, what it has gained since outside of contexts, and
 * where to look.
 */
static void
tell_gained_outside(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	PlhMallocCallers callers;

	if (plh_account_gained_outside(process->image->header, process->rss_anon_bytes) <
		PLH_SUSPECT_LARGE_BYTES)
		return;
	callers = plh_malloc_callers_find(process->pid, telling->symbols);
	PLH_LINE(&telling->said, true, outside_since_count);
	plh_advice_say_libraries(&telling->said, &callers);
}

/* Why there is no finding, and what to do to know more. */
static PlhDoubt *
tell_doubt(Telling *telling)
{
	const PlhDoubted doubted = {
		telling->process, &telling->course, telling->findings, telling->stacks,
		telling->symbols
	};
	PlhDoubt   *doubt = palloc(sizeof(PlhDoubt));

	plh_doubt_find(doubt, &doubted);
	plh_sentences_line(&telling->said, doubt->is_undecided ? PLH_SAYS_no_verdict_yet :
					   PLH_SAYS_no_verdict, true, PLH_FIELDS(.reason = doubt->words.text.data));
	if (telling->nameless == NULL && doubt->is_undecided)
		telling->nameless = doubt->nameless;
	if (doubt->next.begins != NIL)
		PLH_LINE(&telling->said, true, next,.next = doubt->next.text.data);
	return doubt;
}

/* The statement of an open cursor that holds much, where that is told. */
static void
tell_cursor(Telling *telling)
{
	PlhHolder	holder;

	if (plh_holder_sentences_find(&holder, telling->process) && holder.query != NULL)
		tell_statement(telling, plh_holder_sentences_on_query(&holder), holder.query);
}

/* The sentences on a process that has a profile.  Returns its findings. */
static int
tell_profile(Telling *telling, const PlhSuppressions *suppressions)
{
	const PlhExplainedProcess *process = telling->process;
	const PlhProfileImage *image = process->image;
	TimestampTz until = image->alive ? process->now : image->header->counters.last_at;
	bool		has_course;

	telling->stacks = plh_stack_text_open(telling->symbols, image);
	has_course = plh_course_follow(&telling->course, image->header, PLH_SERIES_OWN,
								   plh_moment_own_bytes(process),
								   image->alive ? process->now :
								   image->header->census_at);
	if (has_course)
		plh_course_end_by(&telling->course, image->header, PLH_SERIES_OWN,
						  plh_moment_idle_since(process));
	telling->findings = plh_image_findings_make(image, process->baseline, until,
												telling->symbols);
	plh_size_sentences_say_parts(&telling->said, process, telling->findings->account);
	if (has_course)
		plh_size_sentences_say_course(&telling->said, process, &telling->course);
	tell_peak(telling);
	tell_largest(telling);
	tell_examples(telling);
	tell_cursor(telling);
	return tell_findings(telling, suppressions);
}

PlhExplanation *
plh_explanation_make(const PlhExplainedProcess *process, PlhSymbols *symbols,
					 const PlhSuppressions *suppressions)
{
	Telling		telling = {.process = process,.symbols = symbols};
	PlhExplanation *explanation = palloc0(sizeof(PlhExplanation));
	int			found = 0;

	plh_sentences_begin(&telling.said);
	plh_size_sentences_say_who(&telling.said, process);
	if (process->image != NULL)
		found = tell_profile(&telling, suppressions);
	if (found == 0)
		explanation->doubt = tell_doubt(&telling);
	else
		tell_gained_outside(&telling);
	explanation->text = telling.said;
	explanation->nameless = telling.nameless;
	explanation->told = telling.told;
	explanation->hidden = telling.hidden;
	explanation->account = telling.findings == NULL ? NULL : telling.findings->account;
	explanation->course = telling.course;
	explanation->own_bytes = plh_moment_own_bytes(process);
	return explanation;
}
