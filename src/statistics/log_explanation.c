/*
 * log_explanation.c
 *	  All that a text says of memory, explained: in sentences, and for programs.
 */
#include "postgres.h"

#include "report/json.h"
#include "statistics/log_explanation.h"
#include "statistics/message_sentences.h"
#include "statistics/statistics_sentences.h"

/* A blank line between parts. */
static void
part(PlhSaid *said)
{
	if (said->text.len > 0)
		appendStringInfoChar(&said->text, '\n');
}

/* The first statistics that a process has in front of these; NULL: there are none. */
static const PlhCountedProcess *
first_of(const PlhCountedProcess *counted, int index)
{
	for (int i = 0; i < index; i++)
		if (counted[i].statistics->pid == counted[index].statistics->pid)
			return &counted[i];
	return NULL;
}

static bool
is_last_of(const PlhCountedProcess *counted, int count, int index)
{
	for (int i = index + 1; i < count; i++)
		if (counted[i].statistics->pid == counted[index].statistics->pid)
			return false;
	return true;
}

/* What each process that has several has gained from the first to the last of them. */
static void
compare(PlhSaid *said, const PlhCountedProcess *counted, int count)
{
	for (int i = 0; i < count; i++)
	{
		const PlhCountedProcess *first = first_of(counted, i);

		if (first == NULL || !is_last_of(counted, count, i) ||
			!plh_statistics_sentences_are_comparable(first, &counted[i]))
			continue;
		part(said);
		plh_statistics_sentences_compare(said, first, &counted[i]);
	}
}

static PlhCountedProcess *
count_all(const PlhLogReading *reading, int encoding)
{
	PlhCountedProcess *counted = palloc(sizeof(PlhCountedProcess) * PLH_READING_STATISTICS);

	for (int i = 0; i < reading->kept; i++)
		counted[i] = plh_statistics_sentences_count(&reading->statistics[i], encoding);
	return counted;
}

void
plh_log_explanation_say_statistics(PlhSaid *said, const PlhLogReading *reading, int encoding)
{
	PlhCountedProcess *counted = count_all(reading, encoding);

	for (int i = 0; i < reading->kept; i++)
	{
		part(said);
		plh_statistics_sentences_say(said, &counted[i], reading);
	}
	if (reading->kept > 1)
		compare(said, counted, reading->kept);
	if (reading->found > reading->kept)
		PLH_LINE(said, true, stats_left_out,.count = reading->found - reading->kept);
}

static void
say_messages(PlhSaid *said, const PlhLogReading *reading)
{
	for (int i = 0; i < reading->messages.count; i++)
	{
		part(said);
		plh_message_sentences_say(said, &reading->messages.list[i], reading);
	}
	if (reading->messages.left_out > 0)
		PLH_LINE(said, true, message_left_out,.count = reading->messages.left_out);
}

void
plh_log_explanation_say(PlhSaid *said, const PlhLogReading *reading, int encoding)
{
	plh_sentences_begin(said);
	plh_log_explanation_say_statistics(said, reading, encoding);
	say_messages(said, reading);
	if (reading->oom.count > 0)
	{
		part(said);
		plh_message_sentences_say_oom(said, &reading->oom);
	}
	if (said->text.len == 0)
		PLH_LINE(said, true, stats_nothing);
	else if (reading->kept > 0)
	{
		part(said);
		PLH_LINE(said, true, stats_outside);
		PLH_LINE(said, true, stats_with_sites);
	}
}

/* Contexts of a kind, or of a name that is not known. */
static void
put_family(StringInfo json, const PlhFamilyAccount *family, const PlhProfileImage *image)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, family->family != NULL ? "kind" : "name",
					  family->family != NULL ? family->family->title :
					  plh_account_name(family, image));
	plh_json_put_flag(json, "lasts", family->lasting);
	plh_json_put_number(json, "bytes", family->bytes);
	plh_json_put_number(json, "contexts", family->contexts);
	if (family->family != NULL)
	{
		plh_json_put_text(json, "what", family->family->what);
		plh_json_put_text(json, "bound", family->family->bound);
		plh_json_put_text(json, "help", family->family->help);
	}
	plh_json_close(json, '}');
}

static void
put_statistics(StringInfo json, const PlhCountedProcess *counted)
{
	const PlhStatistics *statistics = counted->statistics;

	plh_json_open(json, '{');
	plh_json_put_number(json, "number", statistics->number);
	plh_json_put_if(json, "pid", statistics->pid != 0, statistics->pid);
	plh_json_put_number(json, "bytes", statistics->bytes);
	plh_json_put_number(json, "free_bytes", statistics->free_bytes);
	plh_json_put_number(json, "contexts", statistics->contexts);
	plh_json_put_if(json, "grand_total_bytes", statistics->grand_bytes >= 0,
					statistics->grand_bytes);
	plh_json_put_if(json, "failed_bytes", statistics->failed_bytes > 0, statistics->failed_bytes);
	plh_json_put_open(json, "kinds", '[');
	for (int i = 0; i < counted->account->family_count; i++)
		put_family(json, &counted->account->families[i], counted->image);
	plh_json_close(json, ']');
	plh_json_close(json, '}');
}

static void
put_message(StringInfo json, const PlhMemoryMessage *message)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, "message", plh_memory_message_name(message->kind));
	plh_json_put_number(json, "times", message->count);
	plh_json_put_if(json, "pid", message->pid != 0, message->pid);
	/* as text: it may be beyond what a number of JSON can be */
	if (message->bytes != 0)
		plh_json_put_text(json, "bytes", psprintf(UINT64_FORMAT, message->bytes));
	if (message->context[0] != '\0')
		plh_json_put_text(json, "of", message->context);
	plh_json_close(json, '}');
}

static void
put_sum(StringInfo json, const char *key, const PlhOomSum *sum, bool tells_apart)
{
	plh_json_put_open(json, key, '{');
	plh_json_put_number(json, "processes", sum->processes);
	plh_json_put_number(json, "resident_bytes", sum->rss_bytes);
	plh_json_put_if(json, "private_bytes", tells_apart, sum->anon_bytes);
	plh_json_put_if(json, "shared_bytes", tells_apart, sum->most_shmem_bytes);
	plh_json_put_text(json, "largest", sum->largest_name);
	plh_json_put_number(json, "largest_bytes", sum->largest_bytes);
	plh_json_close(json, '}');
}

static void
put_oom(StringInfo json, const PlhOomReport *oom)
{
	plh_json_put_open(json, "kernel", '{');
	plh_json_put_number(json, "reports", oom->count);
	plh_json_put_flag(json, "control_group", oom->of_group);
	plh_json_put_if(json, "limit_bytes", oom->limit_bytes > 0, oom->limit_bytes);
	plh_json_put_if(json, "killed_pid", oom->killed_pid != 0, oom->killed_pid);
	plh_json_put_if(json, "killed_private_bytes", oom->killed_anon_bytes >= 0,
					oom->killed_anon_bytes);
	plh_json_put_if(json, "killed_shared_bytes", oom->killed_shmem_bytes >= 0,
					oom->killed_shmem_bytes);
	put_sum(json, "server", &oom->server, oom->tells_apart);
	put_sum(json, "others", &oom->others, oom->tells_apart);
	plh_json_close(json, '}');
}

void
plh_log_explanation_put_members(StringInfo json, const PlhLogReading *reading, int encoding)
{
	PlhCountedProcess *counted = count_all(reading, encoding);

	plh_json_put_open(json, "statistics", '[');
	for (int i = 0; i < reading->kept; i++)
		put_statistics(json, &counted[i]);
	plh_json_close(json, ']');
	plh_json_put_open(json, "messages", '[');
	for (int i = 0; i < reading->messages.count; i++)
		put_message(json, &reading->messages.list[i]);
	plh_json_close(json, ']');
	if (reading->oom.count > 0)
		put_oom(json, &reading->oom);
}

void
plh_log_explanation_put(StringInfo json, const PlhLogReading *reading, int encoding)
{
	PlhSaid		said;

	plh_log_explanation_say(&said, reading, encoding);
	plh_json_open(json, '{');
	plh_json_put_text(json, "text", said.text.data);
	plh_log_explanation_put_members(json, reading, encoding);
	plh_json_close(json, '}');
}
