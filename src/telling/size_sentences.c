/*
 * size_sentences.c
 *	  Who a process is, how large it is and of what, and since when it grows.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "judge/suspect.h"
#include "judge/unwritten.h"
#include "report/death_text.h"
#include "report/words.h"
#include "telling/sentences.h"
#include "telling/size_sentences.h"

/* The number of families of memory contexts that are told. */
#define TOLD_FAMILIES 4

/* What was allocated before sampling is told where it is this part of the contexts. */
#define UNSAMPLED_PART 10

/*
 * Growth since the last count may be such memory being written to where it is this part
 * of the growth.
 */
#define UNWRITTEN_PART 8

/* The own memory of a process, now, or at the last count; -1 if not known. */
int64
plh_size_sentences_own_bytes(const PlhExplainedProcess *process)
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
		appendStringInfo(text, " at %s", plh_words_time(death->at));
	if (how != NULL)
		appendStringInfo(text, " (%s)", how);
}

/* Who it is, what it does, and how large it is. */
void
plh_size_sentences_add_who(StringInfo text, const PlhExplainedProcess *process)
{
	StringInfoData who;

	initStringInfo(&who);
	appendStringInfo(&who, "%d", process->pid);
	append_known(&who, "", process->backend_type);
	append_known(&who, "user ", process->username);
	append_known(&who, "database ", process->database);
	append_known(&who, "application ", process->application_name);
	if (process->image != NULL && process->image->crashed)
		append_death(&who, &process->image->header->death);
	else if (process->image != NULL && !process->image->alive)
		appendStringInfo(&who, ", in a dump of %s", plh_words_time(process->now));
	else if (process->state != NULL)
		appendStringInfo(&who, ", %s for %s", process->state,
						 plh_words_duration(process->state_since,
											process->now));
	if (plh_size_sentences_own_bytes(process) < 0)
		plh_sentences_add(text, "%s: its size is not known.", who.data);
	else
		plh_sentences_add(text, "%s: %s of private memory%s.", who.data,
						  plh_words_size(plh_size_sentences_own_bytes(process)),
						  process->rss_anon_bytes < 0 ? " when it was last counted" : "");
	if (process->rss_shared_bytes >= PLH_SUSPECT_LARGE_BYTES)
		plh_sentences_add(text, "In top, its RES also includes %s of shared memory, such as shared buffers. That exists once for all processes.",
						  plh_words_size(process->rss_shared_bytes));
}

/* What of the memory contexts is free, where it was counted. */
static const char *
free_in_contexts(const PlhProfileHeader *header)
{
	if (header->context_free_bytes < 0)
		return "";
	return psprintf(" (%s of it free inside them)",
					plh_words_size(header->context_free_bytes));
}

/* What it was made of when it was last counted. */
static void
add_counted(StringInfo text, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	int64		outside = Max(0, header->malloc_bytes - header->context_bytes);
	int64		other;

	if (header->census_at == 0)
	{
		plh_sentences_add(text, "%s",
						  plh_sentences_tense(process, "It has not counted its memory contexts yet.",
											  "It had not counted its memory contexts."));
		return;
	}
	if (header->malloc_bytes < 0)
	{
		other = header->own_bytes - header->context_bytes;
		plh_sentences_add(text, "Counted %s %s: %s in memory contexts%s, %s outside of them; malloc %s not glibc's, and %s nothing.",
						  plh_words_duration(header->census_at, process->now),
						  plh_sentences_ago(process), plh_words_size(header->context_bytes),
						  free_in_contexts(header),
						  plh_words_size(Max(0, other)),
						  plh_sentences_tense(process, "is", "was"),
						  plh_sentences_tense(process, "tells", "told"));
		return;
	}
	other = header->own_bytes - header->context_bytes - outside -
		header->malloc_free_bytes;
	plh_sentences_add(text, "Counted %s %s: %s in memory contexts%s, %s allocated with malloc outside of them, %s freed but kept by malloc%s.",
					  plh_words_duration(header->census_at, process->now),
					  plh_sentences_ago(process), plh_words_size(header->context_bytes),
					  free_in_contexts(header),
					  plh_words_size(outside), plh_words_size(header->malloc_free_bytes),
					  other >= 0 ? psprintf(", %s elsewhere", plh_words_size(other)) :
					  psprintf(". %s of this had not been written to at that time, so it took no memory",
							   plh_words_size(-other)));
}

/* What it has gained since the last count; 0 where that is next to nothing, or not known. */
static int64
uncounted_bytes(const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	int64		gained = process->rss_anon_bytes - header->own_bytes;

	if (header->census_at == 0 || process->rss_anon_bytes < 0 ||
		Max(gained, -gained) < Max(PLH_COURSE_NOISE_BYTES,
								   PLH_COURSE_NOISE_PART * process->rss_anon_bytes))
		return 0;
	return gained;
}

/*
 * By how much it is larger or smaller now than at the last count, so that its parts add up
 * to what top shows.  What was counted and not written to makes it larger once it is.
 */
static void
add_uncounted(StringInfo text, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	int64		gained = uncounted_bytes(process);

	if (gained > 0)
		plh_sentences_add(text, "Since that count private memory has grown by %s%s",
						  plh_words_size(gained),
						  plh_unwritten_bytes(header) >= gained / UNWRITTEN_PART ?
						  ". Part of that may be memory that was counted, but not yet written to." :
						  ", which the counted figures do not include.");
	else if (gained < 0)
		plh_sentences_add(text, "Since that count private memory has fallen by %s.",
						  plh_words_size(-gained));
}

/* The families of memory contexts that have most. */
static void
add_families(StringInfo text, const PlhExplainedProcess *process,
			 const PlhAccount *account)
{
	StringInfoData families;
	int64		rest = account->context_bytes;
	int			told = 0;

	initStringInfo(&families);
	for (int i = 0; i < account->family_count && told < TOLD_FAMILIES; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->bytes < Max(PLH_COURSE_NOISE_BYTES, account->context_bytes / 20))
			break;
		appendStringInfo(&families, "%s%s %s %s", told++ == 0 ? "" : ", ",
						 plh_words_size(family->bytes),
						 family->family == NULL ? "in" : "for",
						 plh_account_title(family, process->image));
		if (family->contexts > 1)
			appendStringInfo(&families, " (" INT64_FORMAT " contexts)", family->contexts);
		rest -= family->bytes;
	}
	if (told == 0)
		return;
	plh_sentences_add(text, "Memory contexts by kind: %s, %s in others.", families.data,
					  plh_words_size(Max(0, rest)));
}

/*
 * What no call site has, as it was allocated before.  Of contexts that are not worth
 * a word nobody asks for their call sites.
 */
static void
add_unsampled(StringInfo text, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;

	if (header->census_at == 0 ||
		header->context_bytes < PLH_SUSPECT_LARGE_BYTES ||
		header->unsampled_bytes < header->context_bytes / UNSAMPLED_PART)
		return;
	plh_sentences_add(text, "What it allocated before sampling began has no call site: %s, part of which may have been freed.",
					  plh_words_size(header->unsampled_bytes));
}

/* What it is made of.  It has a profile. */
void
plh_size_sentences_add_parts(StringInfo text, const PlhExplainedProcess *process,
							 const PlhAccount *account)
{
	add_counted(text, process);
	add_families(text, process, account);
	add_uncounted(text, process);
	add_unsampled(text, process);
}

/* Growth of less time than this says nothing of an hour. */
#define LEAST_SECONDS_PER_HOUR 300

/* A rate of growth, per second or per hour. */
static const char *
rate_text(int64 bytes, TimestampTz from, TimestampTz to)
{
	double		seconds = Max(1.0, ((double) to - (double) from) / USECS_PER_SEC);
	double		per_second = bytes / seconds;

	if (per_second >= 10 * 1024 || seconds < LEAST_SECONDS_PER_HOUR)
		return psprintf("%s/s", plh_words_size((int64) per_second));
	return psprintf("%s/h", plh_words_size((int64) (per_second * SECS_PER_HOUR)));
}

/* By how much it was larger once, where something else has followed. */
static void
add_larger_before(StringInfo text, const PlhExplainedProcess *process,
				  const PlhCourse *course)
{
	if (course->fallen_bytes > 0)
		plh_sentences_add(text, "Private memory %s %s larger %s %s.",
						  plh_sentences_tense(process, "was", "had been"),
						  plh_words_size(course->fallen_bytes),
						  plh_words_duration(course->fallen_since, course->now),
						  plh_sentences_tense(process, "ago", "before the last count"));
}

/* It is more than at the last count, which is long ago. */
static void
add_unfinished_growth(StringInfo text, const PlhExplainedProcess *process,
					  const PlhCourse *course)
{
	const PlhProfileHeader *header = process->image->header;

	if (course->grown_since == header->census_at && uncounted_bytes(process) > 0)
	{
		plh_sentences_add(text, "Ask again to see whether its private memory still grows.");
		return;
	}
	plh_sentences_add(text, "Private memory has grown by %s since %s%s. Ask again to see whether it still grows.",
					  plh_words_size(course->grown_bytes),
					  plh_words_time(course->grown_since),
					  course->grown_since >= header->census_at ? "" :
					  psprintf(", %s of that since the last count, %s ago",
							   plh_words_size(course->bytes - header->own_bytes),
							   plh_words_duration(header->census_at, course->now)));
}

/* By how much it has grown, and whether that is over. */
static void
add_growth(StringInfo text, const PlhExplainedProcess *process,
		   const PlhCourse *course)
{
	bool		is_over = course->now - course->rests_since >= USECS_PER_SEC;
	const char *bytes = plh_words_size(course->grown_bytes);
	const char *since = plh_words_time(course->grown_since);
	const char *after = !is_over ? "" :
		psprintf(", and %s hardly changed in the %s since",
				 plh_sentences_tense(process, "has", "had"),
				 plh_words_duration(course->rests_since, course->now));
	const char *grew = plh_sentences_tense(process, is_over ? "grew" : "has grown", "had grown");
	const char *span;

	if (course->rests_since - course->grown_since < USECS_PER_SEC)
	{
		plh_sentences_add(text, "Private memory %s by %s within a second at %s%s.",
						  plh_sentences_tense(process, "grew", "had grown"),
						  bytes, since, after);
		return;
	}
	span = plh_words_span(course->grown_since, course->rests_since);
	plh_sentences_add(text, "Private memory %s by %s %s (%s)%s.", grew, bytes,
					  is_over ? psprintf("from %s on, within %s", since, span) :
					  psprintf("in the %s since %s", span, since),
					  rate_text(course->grown_bytes, course->grown_since,
								course->rests_since),
					  after);
}

/* It was larger, and rests since. */
static void
add_rest_after_fall(StringInfo text, const PlhExplainedProcess *process,
					const PlhCourse *course)
{
	const char *fallen = plh_words_duration(course->fallen_since, course->now);
	const char *rests = plh_words_duration(course->rests_since, course->now);
	const char *bytes = plh_words_size(course->fallen_bytes);
	const char *before = plh_sentences_tense(process, "ago", "before the last count");

	if (strcmp(fallen, rests) == 0)
		plh_sentences_add(text, "Private memory %s by %s %s %s, and %s hardly changed since.",
						  plh_sentences_tense(process, "fell", "had fallen"),
						  bytes, fallen, before,
						  plh_sentences_tense(process, "has", "had"));
	else
		plh_sentences_add(text, "Private memory %s %s larger %s %s; it %s hardly changed in the last %s.",
						  plh_sentences_tense(process, "was", "had been"),
						  bytes, fallen, before,
						  plh_sentences_tense(process, "has", "had"), rests);
}

/* Is the fall the one since the last count, which was told with that? */
static bool
is_told_fall(const PlhExplainedProcess *process, const PlhCourse *course)
{
	return course->fallen_since == process->image->header->census_at &&
		uncounted_bytes(process) < 0;
}

/* It has not grown. */
static void
add_rest(StringInfo text, const PlhExplainedProcess *process, const PlhCourse *course)
{
	if (plh_course_rests(course) && course->fallen_bytes > 0)
		add_rest_after_fall(text, process, course);
	else if (plh_course_rests(course))
		plh_sentences_add(text, "Private memory %s hardly changed for %s.",
						  plh_sentences_tense(process, "has", "had"),
						  plh_words_duration(course->rests_since, course->now));
	else if (course->fallen_bytes > 0 && !is_told_fall(process, course))
		plh_sentences_add(text, "Private memory %s fallen by %s in the %s%s%s.",
						  plh_sentences_tense(process, "has", "had"),
						  plh_words_size(course->fallen_bytes),
						  plh_sentences_tense(process, "last ", ""),
						  course->now - course->fallen_since < USECS_PER_SEC ? "second" :
						  plh_words_duration(course->fallen_since, course->now),
						  plh_sentences_tense(process, "", " before the last count"));
}

/* Whether it grows, rests, or has become smaller, in order of time. */
void
plh_size_sentences_add_course(StringInfo text, const PlhExplainedProcess *process,
							  const PlhCourse *course)
{
	if (course->grown_bytes <= 0)
	{
		add_rest(text, process, course);
		return;
	}
	add_larger_before(text, process, course);
	if (course->end_unknown)
		add_unfinished_growth(text, process, course);
	else
		add_growth(text, process, course);
}
