/*
 * explanation.c
 *	  What a DBA would say of a process, in a few sentences.
 *
 * Each sentence is a line, or several where it is long.  doubt.c has the
 * sentences on why there is no verdict.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "process/top_site.h"
#include "reader/database_text.h"
#include "report/context_list.h"
#include "report/death_text.h"
#include "report/listed_site.h"
#include "report/malloc_callers.h"
#include "report/size_text.h"
#include "report/wrapped_text.h"
#include "verdict/doubt.h"
#include "verdict/explanation.h"
#include "verdict/image_suspects.h"
#include "verdict/memory_course.h"
#include "verdict/suspect_evidence.h"

/* So many findings of a process are told; pg_leakhunt_suspects has all. */
#define TOLD_SUSPECTS 3

/* A statement is shown up to so many characters. */
#define STATEMENT_COLUMNS 150

/* What the sentences are made of. */
typedef struct Telling
{
	const PlhExplainedProcess *process;
	PlhSymbols *symbols;
	PlhStackTexts *stacks;		/* NULL without a profile */
	PlhMemoryCourse course;
	bool		has_course;
	StringInfoData text;
} Telling;

static void tell(Telling *telling, const char *format,...) pg_attribute_printf(2, 3);

/* Add a sentence. */
static void
tell(Telling *telling, const char *format,...)
{
	StringInfoData sentence;
	int			needed;

	initStringInfo(&sentence);
	do
	{
		va_list		arguments;

		va_start(arguments, format);
		needed = appendStringInfoVA(&sentence, format, arguments);
		va_end(arguments);
		if (needed > 0)
			enlargeStringInfo(&sentence, needed);
	} while (needed > 0);
	plh_wrapped_text_append(&telling->text, sentence.data);
}

/* The private memory of a process, of now or as last counted; -1 if not known. */
static int64
own_bytes(const PlhExplainedProcess *process)
{
	if (process->rss_anon_bytes >= 0)
		return process->rss_anon_bytes;
	return process->image != NULL && process->image->header->census_at != 0 ?
		process->image->header->own_bytes : -1;
}

/* Append a word with what introduces it, if it is known. */
static void
append_known(StringInfo text, const char *introduction, const char *word)
{
	if (word != NULL && word[0] != '\0')
		appendStringInfo(text, ", %s%s", introduction, word);
}

/* Append when and how it died. */
static void
append_death(StringInfo text, const PlhDeath *death)
{
	const char *how = plh_death_text(death);

	appendStringInfoString(text, ", crashed");
	if (death->at != 0)
		appendStringInfo(text, " at %s", plh_wrapped_text_time(death->at));
	if (how != NULL)
		appendStringInfo(text, " (%s)", how);
}

/* Who it is, what it does, and how large it is. */
static void
tell_who(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	StringInfoData who;

	initStringInfo(&who);
	appendStringInfo(&who, "%d", process->pid);
	append_known(&who, "", process->backend_type);
	append_known(&who, "user ", process->username);
	append_known(&who, "database ", process->database);
	append_known(&who, "application ", process->application_name);
	if (process->image != NULL && !process->image->alive)
		append_death(&who, &process->image->header->death);
	else if (process->state != NULL)
		appendStringInfo(&who, ", %s for %s", process->state,
						 plh_wrapped_text_duration(process->state_since,
												   process->now));
	if (own_bytes(process) < 0)
		tell(telling, "%s: its size is not known.", who.data);
	else
		tell(telling, "%s: %s of private memory%s.", who.data,
			 plh_size_text(own_bytes(process)),
			 process->rss_anon_bytes < 0 ? " when it was last counted" : "");
}

/* What durations up to "now" of a process end with: that of the dead is their end. */
static const char *
ago(const PlhExplainedProcess *process)
{
	if (process->image->alive)
		return "ago";
	return process->image->header->death.at != 0 ? "before it died" :
		"before it was last heard of";
}

/* What of the memory contexts is free, where it was counted. */
static const char *
free_in_contexts(const PlhProfileHeader *header)
{
	if (header->context_free_bytes < 0)
		return "";
	return psprintf(" (%s of it free inside them)",
					plh_size_text(header->context_free_bytes));
}

/* What it is made of. */
static void
tell_parts(Telling *telling)
{
	const PlhProfileHeader *header = telling->process->image->header;
	int64		outside = Max(0, header->malloc_bytes - header->context_bytes);
	int64		other;

	if (header->census_at == 0)
	{
		tell(telling, "It has not counted its memory contexts yet.");
		return;
	}
	if (header->malloc_bytes < 0)
	{
		other = header->own_bytes - header->context_bytes;
		tell(telling, "Counted %s %s: %s in memory contexts%s, %s outside of them; malloc is not glibc's, and tells nothing.",
			 plh_wrapped_text_duration(header->census_at, telling->process->now),
			 ago(telling->process), plh_size_text(header->context_bytes), free_in_contexts(header),
			 plh_size_text(Max(0, other)));
		return;
	}
	other = header->own_bytes - header->context_bytes - outside -
		header->malloc_free_bytes;
	tell(telling, "Counted %s %s: %s in memory contexts%s, %s by malloc outside of them, %s free in malloc%s.",
		 plh_wrapped_text_duration(header->census_at, telling->process->now),
		 ago(telling->process), plh_size_text(header->context_bytes), free_in_contexts(header),
		 plh_size_text(outside), plh_size_text(header->malloc_free_bytes),
		 other >= 0 ? psprintf(", %s other", plh_size_text(other)) :
		 psprintf("; of all that, %s have not been touched yet",
				  plh_size_text(-other)));
}

/* A rate of growth, per second or per hour. */
static const char *
rate_text(int64 bytes, TimestampTz from, TimestampTz to)
{
	double		seconds = Max(1.0, ((double) to - (double) from) / USECS_PER_SEC);
	double		per_second = bytes / seconds;

	if (per_second >= 10 * 1024)
		return psprintf("%s/s", plh_size_text((int64) per_second));
	return psprintf("%s/h", plh_size_text((int64) (per_second * SECS_PER_HOUR)));
}

/* By how much it has grown; "before" is the beginning of the sentence. */
static void
tell_growth(Telling *telling, const char *before)
{
	const PlhMemoryCourse *course = &telling->course;
	const char *bytes = plh_size_text(course->grown_bytes);
	const char *since = plh_wrapped_text_time(course->grown_since);

	if (course->rests_since - course->grown_since < USECS_PER_SEC)
		tell(telling, "%s by %s within a second at %s.", before, bytes, since);
	else
		tell(telling, "%s by %s in the %s since %s, that is %s.", before, bytes,
			 plh_wrapped_text_duration(course->grown_since,
									   course->rests_since),
			 since,
			 rate_text(course->grown_bytes, course->grown_since,
					   course->rests_since));
}

/* Whether it grows, rests, or has become smaller. */
static void
tell_course(Telling *telling)
{
	const PlhMemoryCourse *course = &telling->course;

	if (!telling->has_course)
		return;
	if (plh_memory_course_rests(course))
	{
		tell(telling, "It has been like that for %s.",
			 plh_wrapped_text_duration(course->rests_since, course->now));
		if (course->grown_bytes > 0)
			tell_growth(telling, "Before, it grew");
	}
	else if (course->grown_bytes > 0)
		tell_growth(telling, "It has grown");
	if (course->fallen_bytes > 0)
		tell(telling, "It is %s less than it was %s %s.",
			 plh_size_text(course->fallen_bytes),
			 plh_wrapped_text_duration(course->fallen_since, course->now),
			 telling->process->image->alive ? "ago" : "before");
}

/* A string of the process, such as the name of memory contexts; NULL for NULL. */
static const char *
string_text(const PlhProfileImage *image, const PlhStringRecord *record)
{
	return record == NULL ? NULL :
		plh_database_text_fit_foreign(record->text, record->text_bytes,
									  image->header->encoding);
}

/* The name of memory contexts by its number; NULL where there is none. */
static const char *
context_name(const PlhProfileImage *image, uint32 name)
{
	return string_text(image, plh_profile_image_string(image, name));
}

/* Where in the program; nothing where the verdict is on all of it. */
static const char *
place_of(Telling *telling, const PlhSuspect *suspect,
		 const PlhListedSite *listed)
{
	const char *name = suspect->context == NULL ? NULL :
		context_name(telling->process->image, suspect->context->context_name);

	if (name != NULL && listed == NULL)
		return psprintf(" of %s", name);
	if (listed == NULL)
		return "";
	if (name != NULL)
		return psprintf(" of %s; most of what was sampled in them is held at %s",
						name, listed->stack.site);
	return psprintf(" at %s in %s", listed->stack.site, listed->context_name);
}

/* The part of all that is sampled that a verdict is about. */
static const char *
share_of(const PlhExplainedProcess *process, const PlhSuspect *suspect)
{
	int64		all = process->image->header->counters.live_bytes;

	if (suspect->site == NULL || suspect->context != NULL || all <= 0)
		return "";
	return psprintf(", which holds %.0f%% of all that is sampled",
					Min(100.0, 100.0 * suspect->facts.live_bytes / all));
}

/* The libraries to look at, of a verdict on malloc whose callers are not known. */
static const char *
libraries_of(Telling *telling, const PlhSuspect *suspect)
{
	if (suspect->judgement.verdict != PLH_VERDICT_MALLOC ||
		suspect->site != NULL || !telling->process->image->alive)
		return "";
	return psprintf(" %s", plh_malloc_callers_text(telling->process->pid,
												   telling->symbols));
}

/* A statement, and what it is. */
static void
tell_statement(Telling *telling, const char *what, const char *query)
{
	tell(telling, "%s: %s", what,
		 plh_wrapped_text_one_line(query, STATEMENT_COLUMNS));
}

/* One finding: verdict, place, evidence, the next step. */
static void
tell_suspect(Telling *telling, const PlhSuspect *suspect,
			 const PlhListedSite *listed)
{
	tell(telling, "Verdict: %s%s%s.",
		 plh_suspect_verdict_name(suspect->judgement.verdict),
		 place_of(telling, suspect, listed),
		 share_of(telling->process, suspect));
	tell(telling, "%s%s",
		 plh_suspect_evidence(&suspect->facts, &suspect->judgement,
							  telling->process->image),
		 libraries_of(telling, suspect));
	if (listed != NULL && listed->query != NULL)
		tell_statement(telling, suspect->facts.statements > 1 ?
					   "Statement that holds most" : "Statement",
					   listed->query);
	tell(telling, "Next: %s",
		 plh_suspect_evidence_next(&suspect->facts, &suspect->judgement,
								   telling->process->image));
}

/* All findings.  Returns how many there are. */
static int
tell_suspects(Telling *telling, const PlhSuspectList *list,
			  const PlhSuppressions *suppressions)
{
	int			found = 0;
	int			suppressed = 0;

	for (int i = 0; i < list->count; i++)
	{
		const PlhSuspect *suspect = &list->suspects[i];
		PlhListedSite listed;
		bool		has_site = suspect->site != NULL;

		if (has_site &&
			!plh_image_suspects_describe(suspect, telling->process->image,
										 telling->stacks, suppressions,
										 &listed))
			suppressed++;
		else if (found++ < TOLD_SUSPECTS)
			tell_suspect(telling, suspect, has_site ? &listed : NULL);
	}
	if (found > TOLD_SUSPECTS)
		tell(telling, "%d more findings are in pg_leakhunt_suspects.",
			 found - TOLD_SUSPECTS);
	if (suppressed > 0)
		tell(telling, "%d more findings are left out, as patterns in pg_leakhunt_suppressions match them.",
			 suppressed);
	return found + suppressed;
}

/*
 * What the process held when samples stood for most, where that is much more than
 * now.
 */
static void
tell_peak(Telling *telling)
{
	const PlhProfileImage *image = telling->process->image;
	const PlhProfileHeader *header = image->header;
	double		fallen = (double) header->peak_bytes -
		(double) header->counters.live_bytes;
	PlhTopSite	top;
	PlhStackText stack;

	if (header->sample_interval == 0 || header->peak_at == 0 ||
		fallen < PLH_SUSPECT_LARGE_BYTES ||
		!plh_top_site_find(&top, image, PLH_TOP_PEAK) ||
		top.stack == NULL || top.context == NULL)
		return;
	plh_stack_text_describe(telling->stacks, top.stack, &stack);
	tell(telling, "When it held most, %s %s, it held %s (+/- %s) at %s in %s.",
		 plh_wrapped_text_duration(header->peak_at, telling->process->now),
		 ago(telling->process),
		 plh_size_text(top.bytes),
		 plh_size_text(plh_sampling_most_error_bytes(top.bytes,
													 header->sample_interval)),
		 stack.site, string_text(image, top.context));
	if (top.statement != NULL && top.statement->text_bytes > 0)
		tell_statement(telling, top.statements > 1 ?
					   "Statement that held most at that time" :
					   "Statement at that time",
					   plh_database_text_fit_foreign(top.statement->text,
													 top.statement->text_bytes,
													 header->encoding));
}

/* Of the contexts of a list, those that have most; NULL if none were counted. */
static const PlhListedContext *
largest_contexts(const PlhContextList *list)
{
	const PlhListedContext *largest = NULL;

	for (int i = 0; i < list->count; i++)
		if (list->contexts[i].instances > 0 &&
			(largest == NULL ||
			 list->contexts[i].context_bytes > largest->context_bytes))
			largest = &list->contexts[i];
	return largest;
}

/* Of a process without a verdict: the contexts that have most. */
static void
tell_contexts(Telling *telling)
{
	const PlhProfileImage *image = telling->process->image;
	const PlhListedContext *largest =
		largest_contexts(plh_context_list_make(image,
											   telling->process->baseline));
	const char *name = largest == NULL ? NULL :
		context_name(image, largest->name);

	if (name == NULL || largest->context_bytes < PLH_COURSE_NOISE_BYTES)
		return;
	tell(telling, "The largest part of the memory contexts is %s: %s in " INT64_FORMAT " %s%s.",
		 name, plh_size_text(largest->context_bytes), largest->instances,
		 largest->instances == 1 ? "context" : "contexts",
		 strcmp(name, "CacheMemoryContext") != 0 ? "" :
		 ", where PostgreSQL caches what it knows of each table, type and function that the session has used");
}

/* Why there is no verdict, and what to do to know more. */
static void
tell_doubt(Telling *telling)
{
	const PlhExplainedProcess *process = telling->process;
	PlhDoubt	doubt;

	doubt = plh_doubt_find(process, &telling->course, telling->symbols,
						   telling->stacks);
	tell(telling, "Verdict: none. %s", doubt.reason);
	if (process->image != NULL)
		tell_contexts(telling);
	if (doubt.next != NULL)
		tell(telling, "Next: %s", doubt.next);
}

/* The sentences on a process that has a profile.  Returns its findings. */
static int
tell_profile(Telling *telling, const PlhSuppressions *suppressions)
{
	const PlhExplainedProcess *process = telling->process;
	const PlhProfileImage *image = process->image;
	TimestampTz until = image->alive ? process->now :
		image->header->counters.last_at;

	telling->stacks = plh_stack_text_open(telling->symbols, image);
	telling->has_course = plh_memory_course_follow(&telling->course,
												   image->header,
												   own_bytes(process),
												   image->alive ? process->now :
												   image->header->census_at);
	tell_parts(telling);
	tell_course(telling);
	tell_peak(telling);
	return tell_suspects(telling,
						 plh_suspect_list_make(image, process->baseline, until),
						 suppressions);
}

/*
 * The explanation, in the current memory context.
 */
char *
plh_explanation_make(const PlhExplainedProcess *process, PlhSymbols *symbols,
					 const PlhSuppressions *suppressions)
{
	Telling		telling = {.process = process,.symbols = symbols};
	int			found = 0;

	initStringInfo(&telling.text);
	tell_who(&telling);
	if (process->image != NULL)
		found = tell_profile(&telling, suppressions);
	if (found == 0)
		tell_doubt(&telling);
	return telling.text.data;
}
