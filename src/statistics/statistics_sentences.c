/*
 * statistics_sentences.c
 *	  What statistics of memory contexts say of a process.
 *
 * The words for kinds of contexts are those of judge/family.c, as everywhere.
 */
#include "postgres.h"

#include "judge/suspect.h"
#include "reader/redaction.h"
#include "report/one_line.h"
#include "report/words.h"
#include "statistics/statistics_image.h"
#include "statistics/statistics_sentences.h"
#include "telling/contexts_evidence.h"
#include "telling/size_sentences.h"

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 150

/* The most kinds of contexts in a list, and the most that are told by themselves. */
#define LISTED_FAMILIES 5
#define TOLD_FAMILIES 3

/* A kind is told by itself if it has this part of all, and is listed if it has that one. */
#define TOLD_PART 5
#define LISTED_PART 50

/* One of many contexts is told by its size if it has this part of them. */
#define LARGEST_PART 2

/* What contexts are of is told if those of which it is known have this part of their kind. */
#define EXEMPLIFIED_PART 8

/* Lines are missing if they add up to less than the grand total by more than this part. */
#define MISSING_PART 100

/* A process of that has not grown, or has: by less than this part of it, nobody asks why. */
#define GROWN_PART 50

PlhCountedProcess
plh_statistics_sentences_count(const PlhStatistics *statistics, int encoding)
{
	const PlhProfileImage *image = plh_statistics_image_make(statistics, encoding);

	return (PlhCountedProcess)
	{
		statistics, image, plh_account_make(image)
	};
}

static char *
number_text(int64 number)
{
	return psprintf(INT64_FORMAT, number);
}

/* Which process it is, and how much it had. */
static void
say_size(PlhSaid *said, const PlhStatistics *statistics, int64 total)
{
	const PlhFields fields = {
		.pid = statistics->pid,
		.count = statistics->contexts,
		.bytes = plh_words_size(statistics->bytes),
		.freed = plh_words_size(statistics->free_bytes)
	};

	if (total > 1)
		PLH_LINE(said, true, stats_number,.name = number_text(statistics->number),
				 .total = number_text(total));
	plh_sentences_line(said, statistics->pid != 0 ? PLH_SAYS_stats_statistics :
					   PLH_SAYS_stats_statistics_of_one, true, &fields);
	if (statistics->free_bytes > 0)
		plh_sentences_say(said, PLH_SAYS_stats_free, true, &fields);
}

/* Do the lines add up to less than the grand total? */
static bool
has_less(const PlhStatistics *statistics)
{
	return statistics->grand_bytes > 0 && statistics->grand_bytes - statistics->bytes >
		statistics->grand_bytes / MISSING_PART;
}

/* The context that a server lists last, before its grand total, and always has. */
static bool
has_last_context(const PlhStatistics *statistics)
{
	for (int i = 0; i < statistics->name_count; i++)
		if (strcmp(statistics->names[i].name, "ErrorContext") == 0)
			return true;
	return statistics->name_count == PLH_STATISTICS_NAMES;
}

/* Is its begin or its end not there?  Rows may have been chosen. */
static bool
is_cut(const PlhStatistics *statistics)
{
	bool		has_end = statistics->grand_bytes >= 0 || has_last_context(statistics);

	return !has_end || !statistics->has_top || statistics->is_cut;
}

/* Whether lines are missing. */
static void
say_whole(PlhSaid *said, const PlhStatistics *statistics)
{
	if (has_less(statistics))
		PLH_LINE(said, true, stats_missing,.bytes = plh_words_size(statistics->bytes),
				 .rest = plh_words_size(statistics->grand_bytes - statistics->bytes),
				 .total = plh_words_size(statistics->grand_bytes));
	else if (is_cut(statistics))
		PLH_LINE(said, true, stats_cut);
}

/* Has the process little, as far as the text tells? */
static bool
is_small(const PlhStatistics *statistics)
{
	return Max(statistics->bytes, statistics->grand_bytes) < PLH_SUSPECT_LARGE_BYTES;
}

/* That it is little, and where more would be. */
static void
say_small(PlhSaid *said, const PlhStatistics *statistics)
{
	if (!is_small(statistics))
		return;
	PLH_LINE(said, true, stats_small);
	if (is_cut(statistics) || has_less(statistics))
		PLH_SAY(said, true, stats_small_cut);
	else
		PLH_SAY(said, true, stats_small_whole);
}

static void
say_failure(PlhSaid *said, const PlhStatistics *statistics)
{
	const PlhFields fields = {
		.bytes = plh_words_size(statistics->failed_bytes),
		.context = statistics->failed_context
	};

	if (statistics->failed_bytes == 0)
		return;
	plh_sentences_line(said, statistics->failed_context[0] != '\0' ?
					   PLH_SAYS_stats_failed_in : PLH_SAYS_stats_failed, true, &fields);
	if (statistics->failed_statement[0] != '\0')
		PLH_LINE(said, true, message_statement,
				 .query = plh_one_line(plh_redaction_statement(statistics->failed_statement),
									   STATEMENT_COLUMNS));
}

/* What contexts are for that the server did not list one by one. */
static void
say_rest(PlhSaid *said, const PlhStatistics *statistics, const PlhStatisticsRest *rest)
{
	const PlhStatisticsName *parent = plh_statistics_name(statistics, rest->parent);
	const PlhStatisticsName *like = plh_statistics_name(statistics, rest->like);
	const PlhFamily *family = like == NULL ? NULL : plh_family_of(like->name);
	const PlhFields fields = {
		.bytes = plh_words_size(rest->bytes),
		.count = rest->contexts,
		.total = number_text(rest->contexts),
		.name = parent != NULL ? parent->name : PLH_PHRASE(true, stats_rest_parent),
		.early_count = rest->alike,
		.least = rest->listed,
		.title = family != NULL ? family->title : like != NULL ? like->name : ""
	};

	if (like == NULL)
		plh_sentences_line(said, PLH_SAYS_stats_rest, true, &fields);
	else
		plh_sentences_line(said, family != NULL ? PLH_SAYS_stats_rest_like :
						   PLH_SAYS_stats_rest_like_named, true, &fields);
}

/* The largest sums of contexts that are not listed. */
static void
say_rests(PlhSaid *said, const PlhStatistics *statistics)
{
	bool		any_told = false;

	for (int i = 0; i < statistics->rest_count; i++)
	{
		if (statistics->rests[i].bytes <= statistics->bytes / TOLD_PART / 2)
			continue;
		say_rest(said, statistics, &statistics->rests[i]);
		any_told = true;
	}
	if (any_told && !statistics->is_by_rows)
		PLH_SAY(said, true, stats_rest_count);
}

static bool
is_unlisted(const PlhFamilyAccount *family)
{
	return family->family == NULL && strcmp(family->largest_name, PLH_UNLISTED_NAME) == 0;
}

/* All kinds that have much, as a list. */
static void
say_kinds(PlhSaid *said, const PlhCountedProcess *counted)
{
	const PlhAccount *account = counted->account;
	int64		rest = account->context_bytes;
	StringInfoData kinds;
	int			count = 0;

	initStringInfo(&kinds);
	for (int i = 0; i < account->family_count && count < LISTED_FAMILIES; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (is_unlisted(family) || family->bytes < account->context_bytes / LISTED_PART)
			continue;
		appendStringInfo(&kinds, "%s%s", count++ == 0 ? "" : ", ",
						 plh_size_sentences_kind(family, counted->image));
		rest -= family->bytes;
	}
	if (count > 0)
		plh_sentences_line(said, rest > 0 ? PLH_SAYS_kinds : PLH_SAYS_kinds_all, true,
						   PLH_FIELDS(.list = kinds.data,.rest = plh_words_size(rest)));
}

static bool
is_named(const PlhFamilyAccount *family, const char *name)
{
	return family->family == NULL && strcmp(family->largest_name, name) == 0;
}

/* What contexts are, and what bounds them. */
static void
say_meaning(PlhSaid *said, const PlhFamilyAccount *family)
{
	if (family->family != NULL)
		PLH_SAY(said, true, family,.what = family->family->what,.bound = family->family->bound);
	else if (is_named(family, "TopMemoryContext"))
		PLH_SAY(said, true, stats_top);
	else if (is_named(family, "TopTransactionContext"))
		PLH_SAY(said, true, stats_transaction);
	else
		PLH_SAY(said, true, contexts_stay,.noun = family->lasting ?
				PLH_PHRASE(true, stats_noun_process) : PLH_PHRASE(true, noun_either));
}

/* What to do about them. */
static char *
help_of(const PlhFamilyAccount *family, const PlhProfileImage *image)
{
	if (family->family != NULL)
		return pstrdup(family->family->help);
	if (is_named(family, "TopMemoryContext") || is_named(family, "TopTransactionContext"))
		return PLH_PHRASE(true, stats_help_top);
	return PLH_PHRASE(true, creator_unknown,.noun = PLH_PHRASE(true, stats_noun_process),
					  .context = plh_account_name(family, image));
}

/* Is a record of contexts part of a kind, or of its name? */
static bool
is_of_family(const PlhStatisticsName *name, const PlhFamilyAccount *family)
{
	if (plh_lifetime_is_lasting(name->lifetime) != family->lasting)
		return false;
	return family->family != NULL ? plh_family_of(name->name) == family->family :
		strcmp(name->name, family->largest_name) == 0;
}

/* That one of several contexts has most of what they have. */
static void
say_largest(PlhSaid *said, const PlhStatistics *statistics, const PlhFamilyAccount *family)
{
	const PlhStatisticsName *largest = NULL;

	for (int i = 0; i < statistics->name_count; i++)
	{
		const PlhStatisticsName *name = &statistics->names[i];

		if (is_of_family(name, family) &&
			(largest == NULL || name->largest_bytes > largest->largest_bytes))
			largest = name;
	}
	if (largest == NULL)
		return;
	if (family->contexts == 1 && family->family != NULL)
		PLH_SAY(said, true, stats_only,.context = largest->name);
	else if (family->contexts > 1 && largest->largest_bytes >= family->bytes / LARGEST_PART)
		PLH_SAY(said, true, stats_largest,.most = plh_words_size(largest->largest_bytes),
				.context = largest->name);
}

/* What the contexts are of, where that is known of a large part of them. */
static void
say_examples(PlhSaid *said, const PlhFamilyAccount *family, const PlhProfileImage *image)
{
	PlhSaid		examples;

	plh_sentences_begin(&examples);
	if (family->exemplified != NULL &&
		family->exemplified->bytes >= family->bytes / EXEMPLIFIED_PART &&
		plh_contexts_evidence_say_examples(&examples, family->exemplified, image))
		PLH_LINE(said, true, contexts_are,.list = examples.text.data);
}

/* Is it so much, with at least half of it in the lines, that something is to be done about it? */
static bool
is_worth_advice(const PlhStatistics *statistics)
{
	return !is_small(statistics) && statistics->bytes >= statistics->grand_bytes / 2;
}

/* A kind of contexts that has a large part. */
static void
say_family(PlhSaid *said, const PlhCountedProcess *counted, const PlhFamilyAccount *family)
{
	const PlhFields fields = {
		.bytes = plh_words_size(family->bytes),
		.percent = psprintf("%.0f", 100.0 * family->bytes /
							Max(counted->account->context_bytes, 1)),
		.count = family->contexts,
		.title = plh_account_title(family, counted->image),
		.context = plh_account_name(family, counted->image)
	};

	plh_sentences_line(said, family->family != NULL ? PLH_SAYS_stats_contexts :
					   PLH_SAYS_stats_contexts_named, true, &fields);
	say_largest(said, counted->statistics, family);
	say_meaning(said, family);
	say_examples(said, family, counted->image);
	if (is_worth_advice(counted->statistics))
		PLH_LINE(said, true, next,.next = help_of(family, counted->image));
}

/* The kinds that have a large part, the largest one in any case. */
static void
say_families(PlhSaid *said, const PlhCountedProcess *counted)
{
	const PlhAccount *account = counted->account;
	int			told = 0;

	for (int i = 0; i < account->family_count && told < TOLD_FAMILIES; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (is_unlisted(family) ||
			(told > 0 && family->bytes < account->context_bytes / TOLD_PART))
			continue;
		say_family(said, counted, family);
		told++;
	}
}

static bool
has_others(const PlhStatistics *statistics, const PlhLogReading *reading)
{
	for (int i = 0; i < reading->kept; i++)
		if (&reading->statistics[i] != statistics && reading->statistics[i].pid == statistics->pid)
			return true;
	return false;
}

/*
 * Whether it grows is not known without another count.  A statement that failed is over, and so is
 * the process of a core file.
 */
static void
say_undecided(PlhSaid *said, const PlhStatistics *statistics, const PlhLogReading *reading)
{
	if (statistics->failed_bytes > 0 || statistics->bytes < PLH_SUSPECT_LARGE_BYTES ||
		reading->from == PLH_READ_FROM_CORE || has_others(statistics, reading))
		return;
	if (reading->from == PLH_READ_FROM_PROCESS)
		PLH_LINE(said, true, stats_once_looked_at);
	else if (statistics->pid != 0)
		PLH_LINE(said, true, stats_once,.pid = statistics->pid);
	else
		PLH_LINE(said, true, stats_once_of_one);
}

void
plh_statistics_sentences_say(PlhSaid *said, const PlhCountedProcess *counted,
							 const PlhLogReading *reading)
{
	const PlhStatistics *statistics = counted->statistics;

	say_size(said, statistics, reading->found);
	say_whole(said, statistics);
	say_failure(said, statistics);
	say_small(said, statistics);
	say_kinds(said, counted);
	say_rests(said, statistics);
	say_families(said, counted);
	say_undecided(said, statistics, reading);
}

/* What contexts of a kind and lifetime have in other statistics. */
static int64
bytes_in(const PlhCountedProcess *counted, const PlhFamilyAccount *wanted)
{
	for (int i = 0; i < counted->account->family_count; i++)
	{
		const PlhFamilyAccount *family = &counted->account->families[i];

		if (family->family == wanted->family && family->lasting == wanted->lasting &&
			(wanted->family != NULL || strcmp(family->largest_name, wanted->largest_name) == 0))
			return family->bytes;
	}
	return 0;
}

/* A kind, and what it has gained. */
typedef struct Gain
{
	const PlhFamilyAccount *family;
	int64		bytes;
} Gain;

/* qsort comparator: the most first. */
static int
compare_gains(const void *a, const void *b)
{
	const Gain *left = a;
	const Gain *right = b;

	return left->bytes != right->bytes ? (left->bytes < right->bytes ? 1 : -1) :
		strcmp(left->family->largest_name, right->family->largest_name);
}

static void
append_gain(StringInfo list, const Gain *gain, const PlhProfileImage *image)
{
	const PlhFields fields = {
		.growth = plh_words_size(gain->bytes),
		.title = plh_account_title(gain->family, image)
	};

	appendStringInfo(list, "%s%s", list->len == 0 ? "" : ", ",
					 plh_sentences_phrase(gain->family->family != NULL ? PLH_SAYS_stats_growth :
										  PLH_SAYS_stats_growth_named, true, &fields));
}

/* Which kinds have gained most of what all have, as a list; "most" is the first of them. */
static char *
list_gains(const PlhCountedProcess *early, const PlhCountedProcess *late, int64 growth,
		   const PlhFamilyAccount **most)
{
	int			count = late->account->family_count;
	Gain	   *gains = palloc(sizeof(Gain) * Max(count, 1));
	int64		rest = growth;
	StringInfoData list;

	for (int i = 0; i < count; i++)
	{
		const PlhFamilyAccount *family = &late->account->families[i];

		gains[i] = (Gain)
		{
			family, family->bytes - bytes_in(early, family)
		};
	}
	qsort(gains, count, sizeof(Gain), compare_gains);
	initStringInfo(&list);
	for (int i = 0; i < Min(count, TOLD_FAMILIES) && gains[i].bytes > growth / 10; i++)
	{
		append_gain(&list, &gains[i], late->image);
		rest -= gains[i].bytes;
	}
	if (rest > growth / 10 || list.len == 0)
		appendStringInfo(&list, "%s%s", list.len == 0 ? "" : ", ",
						 PLH_PHRASE(true, stats_growth_rest,.growth = plh_words_size(rest)));
	*most = count == 0 ? NULL : gains[0].family;
	return list.data;
}

static bool
has_grown(const PlhCountedProcess *early, const PlhCountedProcess *late)
{
	return late->statistics->bytes - early->statistics->bytes >
		early->statistics->bytes / GROWN_PART;
}

bool
plh_statistics_sentences_are_comparable(const PlhCountedProcess *early,
										const PlhCountedProcess *late)
{
	return has_grown(early, late) || (!is_cut(early->statistics) && !is_cut(late->statistics));
}

void
plh_statistics_sentences_compare(PlhSaid *said, const PlhCountedProcess *early,
								 const PlhCountedProcess *late)
{
	int64		growth = late->statistics->bytes - early->statistics->bytes;
	const PlhFamilyAccount *most;
	PlhFields	fields = {
		.pid = late->statistics->pid,
		.early = number_text(early->statistics->number),
		.late = number_text(late->statistics->number),
		.growth = plh_words_size(growth)
	};

	if (!has_grown(early, late))
	{
		plh_sentences_line(said, fields.pid != 0 ? PLH_SAYS_stats_not_grown :
						   PLH_SAYS_stats_not_grown_of_one, true, &fields);
		return;
	}
	fields.list = list_gains(early, late, growth, &most);
	plh_sentences_line(said, fields.pid != 0 ? PLH_SAYS_stats_grown :
					   PLH_SAYS_stats_grown_of_one, true, &fields);
	if (most != NULL && most->family != NULL)
		PLH_SAY(said, true, stats_grown_most,.what = most->family->what,
				.bound = most->family->bound);
}
