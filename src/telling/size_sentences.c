/*
 * size_sentences.c
 *	  Who a process is, how large it is and of what, and since when it grows.
 */
#include "postgres.h"

#include "base/allocator.h"
#include "judge/suspect.h"
#include "report/death_text.h"
#include "report/words.h"
#include "telling/moment.h"
#include "telling/size_sentences.h"

/* The number of families of memory contexts that are told. */
#define TOLD_FAMILIES 4

/* What was allocated before sampling is told where it is this part of the contexts. */
#define UNSAMPLED_PART 10

/* Page tables are told from this size on, and where they are this part of private memory. */
#define PAGE_TABLES_BYTES INT64CONST(1048576)
#define PAGE_TABLES_PART 10

/* Append a word with what introduces it, if it is known. */
static void
append_known(StringInfo text, const char *introduction, const char *word)
{
	if (word != NULL && word[0] != '\0')
		appendStringInfo(text, ", %s%s", introduction, word);
}

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

/* Which processes run the same statement, and what all of them have. */
static void
say_workers(PlhSaid *said, const PlhExplainedProcess *process, int64 bytes)
{
	if (process->leader_pid != 0)
		PLH_LINE(said, true, worker_of,.pid = process->leader_pid);
	if (process->worker_count > 0 && bytes >= 0)
		PLH_LINE(said, true, workers,.count = process->worker_count,.list = process->workers,
				 .bytes = plh_words_size(process->worker_bytes),
				 .total = plh_words_size(bytes + process->worker_bytes));
}

/*
 * What the kernel keeps beside it.  A page of shared memory has an entry in the tables of each
 * process that has touched it.
 */
static void
say_page_tables(PlhSaid *said, const PlhExplainedProcess *process)
{
	int64		bytes = process->page_table_bytes;

	if (bytes < PAGE_TABLES_BYTES || bytes < process->rss_anon_bytes / PAGE_TABLES_PART)
		return;
	PLH_LINE(said, true, process_page_tables,.bytes = plh_words_size(bytes));
	if (plh_server_processes_entries(process->rss_shared_bytes) >= bytes / 2)
		PLH_SAY(said, true, process_page_tables_shared);
}

/* Who it is, what it does, and how large it is. */
void
plh_size_sentences_say_who(PlhSaid *said, const PlhExplainedProcess *process)
{
	int64		bytes = plh_moment_own_bytes(process);
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
	else if (process->is_exiting)
		appendStringInfoString(&who, ", exiting");
	else if (process->state != NULL)
		appendStringInfo(&who, ", %s for %s", process->state,
						 plh_words_duration(process->state_since, process->now));
	if (bytes < 0)
		PLH_LINE(said, true, size_unknown,.who = who.data);
	else
		plh_sentences_line(said, process->rss_anon_bytes < 0 ? PLH_SAYS_size_counted :
						   PLH_SAYS_size, true,
						   PLH_FIELDS(.who = who.data,.bytes = plh_words_size(bytes)));
	say_workers(said, process, bytes);
	if (process->rss_shared_bytes >= PLH_SUSPECT_LARGE_BYTES)
		PLH_LINE(said, true, shared,.bytes = plh_words_size(process->rss_shared_bytes));
	say_page_tables(said, process);
}

const char *
plh_size_sentences_ago(const PlhExplainedProcess *process, TimestampTz at)
{
	const PlhProfileImage *image = process->image;
	PlhSentence sentence = PLH_SAYS_ago;

	if (!image->alive && !image->crashed)
		sentence = PLH_SAYS_before_dump;
	else if (!image->alive && image->header->death.at == 0)
		sentence = PLH_SAYS_before_silence;
	return plh_sentences_phrase(sentence, image->alive,
								PLH_FIELDS(.age = plh_words_duration(at, process->now)));
}

/* Whose malloc it is, and if it does not tell what it has given out, that. */
static void
say_allocator(PlhSaid *said, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	const PlhFields fields = {.library = plh_allocator_name(header->allocator)};

	if (header->malloc_bytes < 0)
		plh_sentences_say(said, fields.library != NULL ? PLH_SAYS_allocator_untold :
						  PLH_SAYS_allocator_unknown, image->alive, &fields);
	else if (header->allocator != PLH_ALLOCATOR_GLIBC && fields.library != NULL)
		plh_sentences_say(said, PLH_SAYS_allocator_is, image->alive, &fields);
}

/*
 * The parts of what was counted last.  Current ones are told as what it has, and those of another
 * moment as what it had then, which comes first.  Where they are more than the whole, the reason is
 * part of the sentence.
 */
static void
say_parts(PlhSaid *said, const PlhExplainedProcess *process, int64 outside, int64 unwritten)
{
	const PlhProfileHeader *header = process->image->header;
	bool		is_now = plh_moment_is_now(process);
	PlhSentence sentence = PLH_SAYS_parts;
	const PlhFields fields = {
		.ago = plh_size_sentences_ago(process, header->census_at),
		.contexts = plh_words_size(header->context_bytes),
		.outside = plh_words_size(outside),
		.freed = plh_words_size(Max(0, header->malloc_free_bytes)),
		.rest = unwritten <= 0 ? "" :
		PLH_PHRASE(is_now, unwritten,.bytes = plh_words_size(unwritten))
	};

	if (header->malloc_bytes < 0)
		sentence = PLH_SAYS_parts_without_malloc;
	else if (header->malloc_free_bytes == 0)
		sentence = PLH_SAYS_parts_nothing_freed;
	plh_sentences_line(said, sentence, is_now, &fields);
}

static void
say_counted(PlhSaid *said, const PlhExplainedProcess *process)
{
	const PlhProfileHeader *header = process->image->header;
	bool		is_now = plh_moment_is_now(process);
	int64		own = is_now ? plh_moment_own_bytes(process) : header->own_bytes;
	int64		used = header->malloc_bytes >= 0 ? header->malloc_bytes : own;
	int64		outside = Max(0, used - header->context_bytes);
	int64		other = own - header->context_bytes - outside - Max(0, header->malloc_free_bytes);

	if (header->census_at == 0)
	{
		PLH_LINE(said, process->image->alive, not_counted);
		return;
	}
	say_parts(said, process, outside, -other);
	say_allocator(said, process->image);
	if (header->context_free_bytes > 0)
		PLH_SAY(said, is_now, free_in_contexts,
				.bytes = plh_words_size(header->context_free_bytes));
	if (other > 0)
		PLH_SAY(said, is_now, elsewhere,.bytes = plh_words_size(other));
	if (process->image->alive && !is_now)
		PLH_SAY(said, true, own_then,.bytes = plh_words_size(header->own_bytes));
	if (plh_moment_gained_bytes(process) != 0)
		PLH_SAY(said, true, unknown_since);
}

char *
plh_size_sentences_kind(const PlhFamilyAccount *family, const PlhProfileImage *image)
{
	bool		is_many = family->contexts > 1;
	const PlhFields fields = {
		.bytes = plh_words_size(family->bytes),
		.title = plh_account_title(family, image),
		.count = family->contexts
	};

	if (family->family == NULL)
		return plh_sentences_phrase(is_many ? PLH_SAYS_kind_named_many : PLH_SAYS_kind_named,
									true, &fields);
	return plh_sentences_phrase(is_many ? PLH_SAYS_kind_many : PLH_SAYS_kind, true, &fields);
}

static void
say_families(PlhSaid *said, const PlhExplainedProcess *process, const PlhAccount *account)
{
	StringInfoData kinds;
	int64		rest = account->context_bytes;
	int			count = 0;

	initStringInfo(&kinds);
	for (; count < Min(account->family_count, TOLD_FAMILIES); count++)
	{
		const PlhFamilyAccount *family = &account->families[count];

		if (family->bytes < Max(PLH_COURSE_NOISE_BYTES, account->context_bytes / 20))
			break;
		appendStringInfo(&kinds, "%s%s", count == 0 ? "" : ", ",
						 plh_size_sentences_kind(family, process->image));
		rest -= family->bytes;
	}
	if (count > 0)
		plh_sentences_line(said, rest > 0 ? PLH_SAYS_kinds : PLH_SAYS_kinds_all,
						   plh_moment_is_now(process),
						   PLH_FIELDS(.list = kinds.data,.rest = plh_words_size(rest)));
}

/*
 * What no call site has, as it was allocated before.  Of contexts that are not worth a word nobody
 * asks for their call sites.
 */
static void
say_unsampled(PlhSaid *said, const PlhProfileHeader *header)
{
	if (header->census_at != 0 && header->context_bytes >= PLH_SUSPECT_LARGE_BYTES &&
		header->unsampled_bytes >= header->context_bytes / UNSAMPLED_PART)
		PLH_LINE(said, true, unsampled,.bytes = plh_words_size(header->unsampled_bytes));
}

void
plh_size_sentences_say_parts(PlhSaid *said, const PlhExplainedProcess *process,
							 const PlhAccount *account)
{
	say_counted(said, process);
	say_families(said, process, account);
	say_unsampled(said, process->image->header);
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

/* It is more than at the last count, which is long ago. */
static void
say_unfinished_growth(PlhSaid *said, const PlhExplainedProcess *process,
					  const PlhCourse *course)
{
	const PlhProfileHeader *header = process->image->header;
	const PlhFields fields = {
		.bytes = plh_words_size(course->grown_bytes),
		.since = plh_words_time(course->grown_since),
		.late = plh_words_size(course->bytes - header->own_bytes),
		.age = plh_words_duration(header->census_at, course->now)
	};

	if (course->grown_since != header->census_at || plh_moment_gained_bytes(process) <= 0)
		plh_sentences_line(said, course->grown_since >= header->census_at ?
						   PLH_SAYS_grown_open : PLH_SAYS_grown_open_counted, true, &fields);
}

static void
say_growth(PlhSaid *said, bool alive, const PlhCourse *course)
{
	bool		is_over = course->now - course->rests_since >= USECS_PER_SEC;
	const PlhFields fields = {
		.bytes = plh_words_size(course->grown_bytes),
		.since = plh_words_time(course->grown_since),
		.span = plh_words_span(course->grown_since, course->rests_since),
		.rate = rate_text(course->grown_bytes, course->grown_since, course->rests_since)
	};

	plh_sentences_line(said, course->rests_since - course->grown_since < USECS_PER_SEC ?
					   PLH_SAYS_grew_at_once : is_over ? PLH_SAYS_grew : PLH_SAYS_grows, alive,
					   &fields);
	if (is_over)
		PLH_SAY(said, alive, rests_since,
				.age = plh_words_duration(course->rests_since, course->now));
}

/* Is the fall the one since the last count, which was told with that? */
static bool
is_told_fall(const PlhExplainedProcess *process, const PlhCourse *course)
{
	return course->fallen_since == process->image->header->census_at &&
		plh_moment_gained_bytes(process) < 0;
}

/* It was larger, and rests since. */
static void
say_rest_after_fall(PlhSaid *said, bool alive, const PlhCourse *course)
{
	const PlhFields fields = {
		.bytes = plh_words_size(course->fallen_bytes),
		.age = plh_words_duration(course->fallen_since, course->now),
		.span = plh_words_duration(course->rests_since, course->now)
	};

	plh_sentences_line(said, strcmp(fields.age, fields.span) == 0 ? PLH_SAYS_fell_and_rests :
					   PLH_SAYS_larger_and_rests, alive, &fields);
}

static void
say_rest(PlhSaid *said, const PlhExplainedProcess *process, const PlhCourse *course)
{
	bool		alive = process->image->alive;

	if (plh_course_rests(course) && course->fallen_bytes > 0)
		say_rest_after_fall(said, alive, course);
	else if (plh_course_rests(course))
		PLH_LINE(said, alive, rests,.age = plh_words_duration(course->rests_since, course->now));
	else if (course->fallen_bytes > 0 && !is_told_fall(process, course))
		PLH_LINE(said, alive, falls,.bytes = plh_words_size(course->fallen_bytes),
				 .age = course->now - course->fallen_since < USECS_PER_SEC ?
				 PLH_PHRASE(true, second) :
				 plh_words_duration(course->fallen_since, course->now));
}

void
plh_size_sentences_say_course(PlhSaid *said, const PlhExplainedProcess *process,
							  const PlhCourse *course)
{
	if (course->grown_bytes <= 0)
	{
		say_rest(said, process, course);
		return;
	}
	if (course->fallen_bytes > 0)
		PLH_LINE(said, process->image->alive, larger_before,
				 .bytes = plh_words_size(course->fallen_bytes),
				 .age = plh_words_duration(course->fallen_since, course->now));
	if (course->end_unknown)
		say_unfinished_growth(said, process, course);
	else
		say_growth(said, process->image->alive, course);
}
