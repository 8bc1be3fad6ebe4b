/*
 * server_summary.c
 *	  What a DBA would say of all processes of a server together: how large they are, the
 *	  largest causes over all of them, and which are alike.
 *
 * A pool of thirty sessions that do the same is one sentence, and not thirty explanations.
 */
#include "postgres.h"

#include "judge/suspect.h"
#include "reader/database_text.h"
#include "report/words.h"
#include "telling/common_causes.h"
#include "telling/forecast_words.h"
#include "telling/memory_account.h"
#include "telling/server_summary.h"

/* The most causes that are told. */
#define TOLD_CAUSES 3

/* From this number on, processes that are alike are told together. */
#define LEAST_ALIKE 4

/* Of processes that are alike, none holds more than this many times their average. */
#define MOST_OF_AVERAGE 2

/* Processes that are of one kind. */
typedef struct Kind
{
	const PlhSummarized *first;
	int			processes;
	int64		bytes;
	int64		most_bytes;
} Kind;

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : pstrdup(text);
}

static PlhSummarizedFinding *
copy_finding(const PlhToldFinding *told)
{
	PlhSummarizedFinding *copy = palloc(sizeof(PlhSummarizedFinding));

	copy->verdict = told->verdict;
	copy->cause = pstrdup(told->cause);
	copy->common = pstrdup(told->common);
	copy->bytes = told->finding->bytes;
	return copy;
}

PlhSummarized *
plh_server_summary_enter(const PlhExplainedProcess *process, const PlhExplanation *explanation)
{
	PlhSummarized *summarized = palloc0(sizeof(PlhSummarized));
	ListCell   *cell;

	summarized->pid = process->pid;
	summarized->bytes = explanation->own_bytes;
	summarized->has_profile = process->image != NULL;
	summarized->is_gone = process->image != NULL && !process->image->alive;
	summarized->is_loaded = process->loaded == PLH_LOADED;
	summarized->backend_type = copy_text(process->backend_type);
	summarized->application_name = copy_text(process->application_name);
	foreach(cell, explanation->told)
		summarized->findings = lappend(summarized->findings, copy_finding(lfirst(cell)));
	return summarized;
}

static bool
is_same_cause(const PlhSummarizedFinding *left, const PlhSummarizedFinding *right)
{
	return plh_texts_are_same(left->verdict, right->verdict) &&
		plh_texts_are_same(left->common, right->common);
}

/* What is told of a process first; NULL without a finding. */
static const PlhSummarizedFinding *
first_finding(const PlhSummarized *process)
{
	return process->findings == NIL ? NULL : linitial(process->findings);
}

/* Are processes of one kind: do they do the same, and are suspect of the same? */
static bool
is_same_kind(const PlhSummarized *left, const PlhSummarized *right)
{
	const PlhSummarizedFinding *one = first_finding(left);
	const PlhSummarizedFinding *other = first_finding(right);

	return left->is_gone == right->is_gone &&
		plh_texts_are_same(left->backend_type, right->backend_type) &&
		plh_texts_are_same(left->application_name, right->application_name) &&
		(one == NULL || other == NULL ? one == other : is_same_cause(one, other));
}

static void
add_cause(List **causes, const PlhSummarized *process, PlhSummarizedFinding *finding)
{
	PlhCommonCause common = {
		.verdict = finding->verdict,
		.common = finding->common,
		.pid = process->pid,
		.bytes = finding->bytes
	};
	PlhCommonCause *cause = plh_common_causes_enter(causes, &common);

	if (cause->told == NULL && cause->pid == process->pid)
		cause->told = finding;
}

/* list_sort comparator: the largest cause first. */
static int
compare_causes(const ListCell *a, const ListCell *b)
{
	const PlhCommonCause *left = lfirst(a);
	const PlhCommonCause *right = lfirst(b);

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

/* The causes over all processes that live, the largest first. */
static List *
find_causes(const List *processes)
{
	List	   *causes = NIL;
	ListCell   *cell;
	ListCell   *found;

	foreach(cell, processes)
	{
		const PlhSummarized *process = lfirst(cell);

		if (process->is_gone)
			continue;
		foreach(found, process->findings)
			add_cause(&causes, process, lfirst(found));
	}
	list_sort(causes, compare_causes);
	return causes;
}

/*
 * How large all processes are.  Where it is known, pages that several have since a fork count once.
 */
static void
tell_sum(PlhSaid *text, const List *processes, const PlhServerAccount *account)
{
	int64		bytes = 0;
	int			count = 0;
	ListCell   *cell;

	foreach(cell, processes)
	{
		const PlhSummarized *process = lfirst(cell);

		if (process->is_gone)
			continue;
		count++;
		bytes += Max(0, process->bytes);
	}
	if (account != NULL)
		bytes = plh_server_account_memory(account)->share_bytes;
	plh_sentences_line(text, account != NULL ? PLH_SAYS_server : PLH_SAYS_server_visible, true,
					   PLH_FIELDS(.count = count,.bytes = plh_words_size(bytes)));
	if (count < list_length(processes))
		PLH_SAY(text, true, server_crashed,.count = list_length(processes) - count);
}

/* Is enough known of any of them to judge it? */
static bool
is_any_judged(const List *processes)
{
	ListCell   *cell;

	foreach(cell, processes)
		if (((const PlhSummarized *) lfirst(cell))->has_profile)
		return true;
	return false;
}

static void
tell_causes(PlhSaid *text, const List *causes, const List *processes)
{
	int			more = list_length(causes) - TOLD_CAUSES;
	int			told = 0;
	ListCell   *cell;

	if (causes == NIL && is_any_judged(processes))
		PLH_LINE(text, true, server_no_finding);
	else if (causes == NIL)
		PLH_LINE(text, true, server_too_little,.count = list_length(processes));
	foreach(cell, causes)
	{
		const PlhCommonCause *cause = lfirst(cell);

		if (told++ == TOLD_CAUSES)
			break;
		PLH_LINE(text, true, server_verdict,.verdict = cause->verdict,
				 .cause = ((PlhSummarizedFinding *) cause->told)->cause,.count = cause->processes,
				 .bytes = plh_words_size(cause->bytes));
	}
	if (more > 0)
		PLH_LINE(text, true, server_more,.count = more);
}

/* Add up the processes of the kind of that one. */
static Kind
kind_of(const PlhSummarized *first, const List *processes)
{
	Kind		kind = {first};
	ListCell   *cell;

	foreach(cell, processes)
	{
		const PlhSummarized *process = lfirst(cell);

		if (!process->is_listed || process->bytes < 0 || !is_same_kind(first, process))
			continue;
		kind.processes++;
		kind.bytes += process->bytes;
		kind.most_bytes = Max(kind.most_bytes, process->bytes);
	}
	return kind;
}

/* Are there enough of them, and are they alike enough, for one to stand for all? */
static bool
are_alike(const Kind *kind)
{
	return kind->processes >= LEAST_ALIKE &&
		kind->most_bytes <= MOST_OF_AVERAGE * (kind->bytes / kind->processes);
}

/* What processes that are alike have in common. */
static void
tell_kind(PlhSaid *text, const Kind *kind)
{
	const PlhSummarizedFinding *finding = first_finding(kind->first);
	const char *type = kind->first->backend_type == NULL ? "unknown" : kind->first->backend_type;
	const char *application = kind->first->application_name;
	PlhFields	fields = {
		.count = kind->processes,
		.name = application == NULL || application[0] == '\0' ? type :
		PLH_PHRASE(true, type_of_application,.title = type,.name = application),
		.each = plh_words_size(kind->bytes / kind->processes),
		.most = plh_words_size(kind->most_bytes)
	};

	if (finding != NULL)
	{
		fields.verdict = finding->verdict;
		fields.cause = finding->cause;
	}
	plh_sentences_line(text, finding == NULL ? PLH_SAYS_alike : PLH_SAYS_alike_suspect, true,
					   &fields);
}

/* Why a process has no profile. */
typedef enum Lack
{
	NEVER_COUNTED,				/* it is large all the same: listed by itself */
	TOO_LITTLE,
	NOT_LOADED
#define LACKS (NOT_LOADED + 1)
} Lack;

static Lack
lack_of(const PlhSummarized *process)
{
	if (!process->is_loaded)
		return NOT_LOADED;
	return process->bytes >= PLH_SUSPECT_LARGE_BYTES ? NEVER_COUNTED : TOO_LITTLE;
}

/* Processes without a profile: only their size is known. */
static void
tell_small(PlhSaid *text, const List *processes)
{
	static const PlhSentence sentences[LACKS] = {
		[NEVER_COUNTED] = PLH_SAYS_server_uncounted,
		[TOO_LITTLE] = PLH_SAYS_server_small,
		[NOT_LOADED] = PLH_SAYS_server_unloaded
	};
	int64		bytes[LACKS] = {0};
	int			counts[LACKS] = {0};
	ListCell   *cell;

	foreach(cell, processes)
	{
		PlhSummarized *process = lfirst(cell);

		process->is_listed = process->has_profile || lack_of(process) == NEVER_COUNTED;
		if (process->has_profile)
			continue;
		bytes[lack_of(process)] += Max(0, process->bytes);
		counts[lack_of(process)]++;
	}
	for (int lack = 0; lack < LACKS; lack++)
		if (counts[lack] > 0)
			plh_sentences_line(text, sentences[lack], true,
							   PLH_FIELDS(.count = counts[lack],
										  .bytes = plh_words_size(bytes[lack])));
}

/* Which processes are alike: the first of them is listed. */
static void
tell_kinds(PlhSaid *text, const List *processes)
{
	ListCell   *cell;

	foreach(cell, processes)
	{
		const PlhSummarized *first = lfirst(cell);
		Kind		kind;
		ListCell   *other;

		if (!first->is_listed || first->bytes < 0)
			continue;
		kind = kind_of(first, processes);
		if (!are_alike(&kind))
			continue;
		tell_kind(text, &kind);
		foreach(other, processes)
		{
			PlhSummarized *process = lfirst(other);

			if (process != first && process->bytes >= 0 && is_same_kind(first, process))
				process->is_listed = false;
		}
	}
}

void
plh_server_summary_make(PlhSaid *text, const List *processes, PlhServerAccount *account)
{
	plh_sentences_begin(text);
	tell_sum(text, processes, account);
	if (account != NULL)
	{
		plh_forecast_words_say(text);
		plh_memory_account_say(text, account);
	}
	tell_causes(text, find_causes(processes), processes);
	tell_small(text, processes);
	tell_kinds(text, processes);
}
