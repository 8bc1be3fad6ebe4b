/*
 * explanation.c
 *	  What a DBA would say of a process, in a few sentences.
 *
 * size_sentences.c has those on its size, and doubt.c those on why there is no
 * verdict.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "base/plural.h"
#include "base/sampling.h"
#include "process/top_site.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/blamed_code.h"
#include "report/context_examples.h"
#include "report/context_list.h"
#include "report/listed_site.h"
#include "report/one_line.h"
#include "report/words.h"
#include "telling/age_text.h"
#include "telling/explanation.h"
#include "telling/image_suspects.h"
#include "telling/sentences.h"
#include "telling/share_text.h"
#include "telling/size_sentences.h"

/* The number of findings of a process that are told; pg_leakhunt_suspects has all. */
#define TOLD_SUSPECTS 3

/*
 * What is held at the largest site is about as much as at the peak if it is less by no more
 * than this part.
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
	PlhSuspectList *list;		/* NULL without a profile */
	List	   *findings;		/* of PlhToldFinding */
	const char *nameless;		/* path of a binary that names are missing of */
	const char *peak_query;		/* that was told with the peak; else NULL */
	TimestampTz told_peak_at;	/* 0: no peak was told */
	StringInfoData text;
} Telling;

/* Where most is held of what is in contexts, as a sentence. */
static const char *
held_at(Telling *telling, const PlhSuspect *suspect, const PlhListedSite *named)
{
	return suspect->family == NULL || named == NULL ? "" :
		psprintf(" The largest part of what was sampled in them %s held at %s.",
				 plh_sentences_tense(telling->process, "is", "was"),
				 plh_blamed_code_site(&named->stack));
}

/* The part of all that is sampled that a verdict is about, as a sentence. */
static const char *
share_of(const Telling *telling, const PlhSuspect *suspect)
{
	int64		all = telling->process->image->header->counters.live_bytes;
	const char *who = suspect->facts.sites > 1 ?
		plh_sentences_tense(telling->process, "These call sites hold", "These call sites held") :
		plh_sentences_tense(telling->process, "This call site holds", "This call site held");
	double		percent;

	if (suspect->facts.subject != PLH_SUBJECT_SITE || all <= 0)
		return "";
	percent = 100.0 * suspect->facts.live_bytes / all;
	if (percent >= 99.5)
		return psprintf(" %s all of the process' sampled memory.", who);
	return percent < 1.0 ?
		psprintf(" %s less than 1%% of the process' sampled memory.", who) :
		psprintf(" %s %.0f%% of the process' sampled memory.", who, percent);
}

/* A statement, and what it is. */
static void
tell_statement(Telling *telling, const char *what, const char *query)
{
	plh_sentences_add(&telling->text, "%s: %s", what,
					  plh_one_line(query, STATEMENT_COLUMNS));
}

/* How old is what the largest finding at a single call site holds. */
static void
tell_ages(Telling *telling, const PlhToldFinding *finding, const PlhSuspect *suspect)
{
	const PlhProfileImage *image = telling->process->image;
	const char *text = finding != linitial(telling->findings) ? NULL :
		plh_age_text(suspect, image, image->alive ? telling->process->now :
					 plh_profile_image_ended_at(image->header));

	if (text != NULL)
		plh_sentences_add(&telling->text, "%s", text);
}

/* What the statement is that a finding shows. */
static const char *
statement_words(const Telling *telling, const PlhSuspect *suspect)
{
	if (suspect->facts.statements > 1 ||
		suspect->facts.subject == PLH_SUBJECT_STATEMENT)
		return plh_sentences_tense(telling->process, "Statement that holds most",
								   "Statement that held most");
	return suspect->family != NULL && suspect->facts.contexts > 1 ?
		"Allocated by statements such as" :
		suspect->facts.transactions > 1 ? "Allocated by statements of this form" :
		"Allocated by the statement";
}

/* Note where names are missing in what is told of a suspect. */
static void
note_nameless(Telling *telling, const PlhSuspect *suspect, const PlhListedSite *named)
{
	if (telling->nameless == NULL && named != NULL)
		telling->nameless = plh_blamed_code_nameless(&named->stack);
	if (telling->nameless == NULL &&
		suspect->facts.subject == PLH_SUBJECT_STATEMENT)
		telling->nameless = plh_share_text_nameless(suspect, telling->process->image,
													telling->stacks);
}

/* Tell which functions in SQL or a procedural language allocated it, if any did. */
static void
tell_routines(Telling *telling, const PlhSuspect *suspect, const PlhListedSite *named)
{
	const char *routines = named == NULL ? NULL : plh_stack_text_routines(&named->stack);

	if (routines != NULL)
		plh_sentences_add(&telling->text, "%s in %s.", suspect->facts.sites == 1 ? "Allocated" :
						  "The largest part was allocated", routines);
}

/* Tell of a finding: verdict, place, evidence, the next step. */
static void
tell_finding(Telling *telling, const PlhToldFinding *finding, const PlhSuspect *suspect)
{
	plh_sentences_add(&telling->text, "Verdict: %s%s.%s%s", finding->verdict, finding->cause,
					  held_at(telling, suspect, finding->named), share_of(telling, suspect));
	plh_sentences_add(&telling->text, "%s", finding->evidence);
	tell_ages(telling, finding, suspect);
	tell_routines(telling, suspect, finding->named);
	if (finding->query != NULL)
		tell_statement(telling, statement_words(telling, suspect), finding->query);
	plh_sentences_add(&telling->text, "Next: %s", finding->next);
}

/* All findings.  Returns how many there are. */
static int
tell_suspects(Telling *telling, const PlhSuppressions *suppressions)
{
	const PlhFoundIn in = {
		telling->process->image, telling->list, telling->stacks, telling->symbols
	};
	int			found = 0;
	int			suppressed = 0;

	for (int i = 0; i < telling->list->count; i++)
	{
		const PlhSuspect *suspect = &telling->list->suspects[i];
		PlhToldFinding *finding;
		PlhListedSite listed;
		PlhShown	shown = suspect->site == NULL ? PLH_SHOWN :
			plh_image_suspects_describe(suspect, telling->process->image,
										telling->stacks, suppressions,
										&listed);

		suppressed += shown == PLH_SUPPRESSED;
		if (shown != PLH_SHOWN)
			continue;
		finding = plh_told_finding_make(suspect, suspect->site == NULL ? NULL : &listed, &in);
		telling->findings = lappend(telling->findings, finding);
		if (found++ < TOLD_SUSPECTS)
		{
			tell_finding(telling, finding, suspect);
			note_nameless(telling, suspect, finding->named);
		}
		finding->named = NULL;	/* it does not outlive this turn */
	}
	if (found > TOLD_SUSPECTS)
		plh_sentences_add(&telling->text, "%d more %s in pg_leakhunt_suspects.",
						  found - TOLD_SUSPECTS,
						  plh_plural(found - TOLD_SUSPECTS, "finding is", "findings are"));
	if (suppressed > 0)
		plh_sentences_add(&telling->text, "%d more %s left out, as patterns in pg_leakhunt_suppressions match %s.",
						  suppressed, plh_plural(suppressed, "finding is", "findings are"),
						  plh_plural(suppressed, "it", "them"));
	return found + suppressed;
}

/* What it holds now of all kinds, as far as the kernel tells. */
static int64
held_now(const PlhExplainedProcess *process)
{
	return plh_size_sentences_own_bytes(process) -
		Max(0, process->image->header->malloc_free_bytes);
}

/*
 * What the process held when samples stood for most, where that is much more than now, at
 * the largest site of such contexts, too.
 */
static void
tell_peak(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	const PlhProfileImage *image = process->image;
	const PlhProfileHeader *header = image->header;
	double		fallen = (double) header->peak_bytes -
		(double) header->counters.live_bytes;
	PlhTopSite	top;
	PlhTopSite	now;
	PlhStackText stack;
	int64		bytes;
	int64		error_bytes;

	if (header->sample_interval == 0 || header->peak_at == 0 ||
		fallen < PLH_SUSPECT_LARGE_BYTES ||
		!plh_top_site_find(&top, image, PLH_TOP_PEAK) ||
		top.stack == NULL || top.context == NULL)
		return;
	bytes = Min(top.bytes, plh_account_peak_bound(header));
	if (bytes <= Max(header->context_bytes, held_now(process)))
		return;
	if (plh_top_site_find(&now, image, PLH_TOP_NOW) && now.context == top.context &&
		now.bytes >= bytes - bytes / STILL_PART)
		return;
	plh_stack_text_describe(telling->stacks, top.stack, &stack);
	if (telling->nameless == NULL)
		telling->nameless = plh_blamed_code_nameless(&stack);
	error_bytes = plh_sampling_most_error_bytes(top.bytes, header->sample_interval);
	if (error_bytes >= bytes)	/* it may as well have been nothing */
		return;
	telling->told_peak_at = header->peak_at;
	plh_sentences_add(&telling->text, "At its sampled peak, %s %s, the largest call site held about %s: %s in %s.",
					  plh_words_duration(header->peak_at, telling->process->now),
					  plh_sentences_ago(telling->process),
					  plh_words_estimate(bytes, error_bytes),
					  plh_blamed_code_site(&stack),
					  plh_context_list_name(image, plh_profile_image_offset(image,
																			top.context)));
	if (top.statement == NULL || top.statement->text_bytes == 0)
		return;
	telling->peak_query =
		plh_redaction_statement(plh_database_text_fit_foreign(top.statement->text,
															  top.statement->text_bytes,
															  header->encoding));
	tell_statement(telling, top.statements > 1 ? "Statement that held most at that peak" :
				   "Statement at that peak", telling->peak_query);
}

/* Is there a finding that is on the statement or transaction as a whole? */
static bool
has_statement(const Telling *telling)
{
	for (int i = 0; i < telling->list->count; i++)
	{
		if (telling->list->suspects[i].facts.subject == PLH_SUBJECT_STATEMENT)
			return true;
	}
	return false;
}

/* Is that the peak of the process that was told? */
static bool
is_told_peak(const Telling *telling, TimestampTz at)
{
	return telling->told_peak_at != 0 &&
		labs(at - telling->told_peak_at) < USECS_PER_SEC;
}

/*
 * What the largest statement of the last day took, unless a finding has that, or the
 * process holds as much still: what a leak has left counts as the last statement's, too.
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
		const char *query =
			plh_redaction_statement(plh_database_text_fit_foreign(largest->text,
																  largest->text_bytes,
																  largest->encoding));

		plh_sentences_add(&telling->text, "Its statements' highest peak of the last 24 hours: %s, %s %s.",
						  plh_words_estimate(largest->max_peak_bytes, largest->error_bytes),
						  plh_words_duration(largest->max_at, process->now),
						  plh_sentences_ago(process));
		if (telling->peak_query == NULL || strcmp(telling->peak_query, query) != 0)
			tell_statement(telling, "Statement of that peak", query);
	}
	plh_sentences_add(&telling->text, "Its settings allowed %s for a hash table, the most that a node of a plan may take.",
					  plh_words_size(largest->allowed_bytes));
}

/* Does a verdict on contexts tell what these are of? */
static bool
is_told_by_verdict(const PlhSuspectList *list, const PlhContextRecord *exemplified)
{
	for (int i = 0; i < list->count; i++)
	{
		const PlhFamilyAccount *family = list->suspects[i].family;

		if (family != NULL && family->exemplified == exemplified)
			return true;
	}
	return false;
}

/*
 * What the contexts are of that have most of what is known so.  Beside verdicts only
 * that is told which is a large part of the process.
 */
static void
tell_examples(Telling *telling)
{
	const PlhAccount *account = telling->list->account;
	const PlhProfileImage *image = telling->process->image;

	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];
		const char *sentence = plh_context_examples_sentence(family->exemplified, image);

		if (*sentence == '\0')
			continue;
		if (telling->list->count == 0 ||
			(family->bytes >= image->header->context_bytes / LARGE_PART &&
			 !is_told_by_verdict(telling->list, family->exemplified)))
			plh_sentences_add(&telling->text, "%s", sentence + 1);
		break;
	}
}

/* Why there is no verdict, and what to do to know more. */
static void
tell_doubt(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	PlhDoubt	doubt;

	doubt = plh_doubt_find(process, &telling->course, telling->list,
						   telling->symbols, telling->stacks);
	plh_sentences_add(&telling->text, "Verdict: %s. %s",
					  doubt.is_undecided ? "none yet" : "none", doubt.reason);
	if (telling->nameless == NULL)
		telling->nameless = doubt.nameless;
	if (doubt.next != NULL)
		plh_sentences_add(&telling->text, "Next: %s", doubt.next);
}

/* The sentences on a process that has a profile.  Returns its findings. */
static int
tell_profile(Telling *telling, const PlhSuppressions *suppressions)
{
	const PlhExplainedProcess *process = telling->process;
	const PlhProfileImage *image = process->image;
	TimestampTz until = image->alive ? process->now :
		image->header->counters.last_at;
	bool		has_course;

	telling->stacks = plh_stack_text_open(telling->symbols, image);
	has_course = plh_course_follow(&telling->course, image->header,
								   PLH_SERIES_OWN,
								   plh_size_sentences_own_bytes(process),
								   image->alive ? process->now :
								   image->header->census_at);
	telling->list = plh_suspect_list_make(image, process->baseline, until);
	plh_size_sentences_add_parts(&telling->text, process, telling->list->account);
	if (has_course)
		plh_size_sentences_add_course(&telling->text, process, &telling->course);
	tell_peak(telling);
	tell_largest(telling);
	tell_examples(telling);
	return tell_suspects(telling, suppressions);
}

/*
 * The explanation, in the current memory context, referring to the process' image.
 */
PlhExplanation *
plh_explanation_make(const PlhExplainedProcess *process, PlhSymbols *symbols,
					 const PlhSuppressions *suppressions)
{
	Telling		telling = {.process = process,.symbols = symbols};
	PlhExplanation *explanation = palloc0(sizeof(PlhExplanation));
	int			found = 0;

	initStringInfo(&telling.text);
	plh_size_sentences_add_who(&telling.text, process);
	if (process->image != NULL)
		found = tell_profile(&telling, suppressions);
	if (found == 0)
		tell_doubt(&telling);
	explanation->text = telling.text.data;
	explanation->nameless = telling.nameless;
	explanation->findings = telling.findings;
	explanation->account = telling.list == NULL ? NULL : telling.list->account;
	explanation->own_bytes = plh_size_sentences_own_bytes(process);
	return explanation;
}
