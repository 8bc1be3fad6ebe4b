/*
 * capacity_advice.c
 *	  How many connections this host bears, and why, in sentences.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "judge/course.h"
#include "report/words.h"
#include "telling/capacity_advice.h"

/* Parts of a session that are less than this part of it are not told. */
#define TOLD_PART 20

static const PlhSentence part_phrases[PLH_CAPACITY_PARTS] = {
	[PLH_CAPACITY_CATALOGS] = PLH_SAYS_session_catalogs,
	[PLH_CAPACITY_PLANS] = PLH_SAYS_session_plans,
	[PLH_CAPACITY_CONTEXTS] = PLH_SAYS_session_contexts,
	[PLH_CAPACITY_MALLOC] = PLH_SAYS_session_malloc,
	[PLH_CAPACITY_FREED] = PLH_SAYS_session_freed,
	[PLH_CAPACITY_BESIDE] = PLH_SAYS_session_beside
};

static char *
duration(int64 us)
{
	return plh_words_duration(0, us);
}

/* Of an age that was measured, to the nearest minute. */
static char *
age(int64 us)
{
	return duration(us < 2 * USECS_PER_MINUTE ? us : us + USECS_PER_MINUTE / 2);
}

static char *
number(int64 count)
{
	return psprintf("%lld", (long long) count);
}

/* What a session has, as the end of a sentence; empty where it is not known. */
static const char *
parts_of(const PlhCapacityGrowth *growth)
{
	PlhFields	fields = {NULL};
	StringInfoData list;

	initStringInfo(&list);
	for (int part = 0; part < PLH_CAPACITY_PARTS; part++)
	{
		if (growth->parts[part] <= growth->bytes / TOLD_PART)
			continue;
		fields.bytes = plh_words_size(growth->parts[part]);
		appendStringInfo(&list, "%s%s", list.len == 0 ? "" : ", ",
						 plh_sentences_phrase(part_phrases[part], true, &fields));
	}
	return list.len == 0 ? "" : PLH_PHRASE(true, session_parts,.list = list.data);
}

static void
say_growth(PlhSaid *said, const PlhCapacityAnswer *answer)
{
	const PlhCapacityGrowth *growth = &answer->growth;
	char	   *bytes = plh_words_estimate(growth->bytes, growth->error_bytes);

	if (!growth->is_known)
		return;
	if (answer->kind == NULL)
		PLH_SAY(said, true, session_grows_all,.bytes = bytes);
	else if (growth->goes_on)
		PLH_SAY(said, true, session_grows_on,.bytes = bytes,.age = age(growth->oldest_us),
				.list = parts_of(growth));
	else
		PLH_SAY(said, true, session_grows,.bytes = bytes,.age = age(growth->within_us),
				.list = parts_of(growth));
}

static void
say_together(PlhSaid *said, const PlhCapacityAnswer *answer)
{
	const PlhCapacityTogether *together = answer->together;

	if (together->most_bytes >= PLH_COURSE_NOISE_BYTES)
		PLH_SAY(said, true, together,.count = together->most_active,
				.workers = together->most_sessions,.since = plh_words_time(together->most_at),
				.bytes = plh_words_size(together->most_bytes));
	if (answer->connections.statements_bytes >= PLH_COURSE_NOISE_BYTES)
		PLH_SAY(said, true, together_bears,
				.bytes = plh_words_size(answer->connections.statements_bytes));
	if (answer->highest_bytes > together->largest_bytes + PLH_COURSE_NOISE_BYTES)
		PLH_SAY(said, true, together_missed,.bytes = plh_words_size(answer->highest_bytes));
}

static void
say_recycling(PlhSaid *said, const PlhCapacityAnswer *answer)
{
	if (answer->lifetime_us == 0 || answer->saved_bytes < 0 || answer->sessions == 0)
		return;
	if (answer->saved_bytes >= PLH_COURSE_NOISE_BYTES)
		PLH_SAY(said, true, recycling,.age = duration(answer->lifetime_us),
				.bytes = plh_words_size(answer->saved_bytes));
	else
		PLH_SAY(said, true, recycling_nothing,.age = duration(answer->lifetime_us));
}

static void
say_connections(PlhSaid *said, const PlhCapacityAnswer *answer)
{
	const PlhCapacityConnections *connections = &answer->connections;
	const PlhFields *fields = PLH_FIELDS(.count = connections->count,
										 .low = number(connections->low),
										 .high = number(connections->high));

	if (connections->count >= PLH_CAPACITY_MOST)
		PLH_SAY(said, true, bears_any);
	else
		plh_sentences_say(said, answer->kind == NULL ? PLH_SAYS_bears_all : PLH_SAYS_bears, true,
						  fields);
}

/* Why there is no number. */
static void
say_unknown(PlhSaid *said, const PlhCapacityAnswer *answer, const PlhSessionRoom *room)
{
	if (room->limit_bytes <= 0)
		PLH_SAY(said, true, bears_no_room);
	else
		PLH_SAY(said, true, bears_unknown,.count = answer->together->looks,
				.workers = answer->kind == NULL ? answer->together->sessions_most :
				answer->sessions_seen,
				.least = PLH_CAPACITY_LEAST_LOOKS);
}

/* What is true of the whole answer. */
static void
say_server(PlhSaid *said, const PlhCapacityRecord *record, const PlhSessionRoom *room)
{
	if (room->limit_bytes > 0)
		PLH_SAY(said, true, bears_room,.bytes = plh_words_size(room->room_bytes),
				.limit = plh_words_size(room->limit_bytes));
	PLH_SAY(said, true, allowed_connections,.count = MaxConnections);
	PLH_SAY(said, true, looked_for,.count = record->looks,.age = duration(record->watched_us),
			.since = plh_words_time(record->since));
	if (record->forgotten_kinds > 0)
		PLH_SAY(said, true, kinds_forgotten,.count = record->forgotten_kinds);
}

void
plh_capacity_advice_say(PlhSaid *said, const PlhCapacityAnswer *answer,
						const PlhCapacityRecord *record, const PlhSessionRoom *room)
{
	if (record->looks == 0)
	{
		PLH_SAY(said, true, bears_unseen);
		return;
	}
	if (answer->connections.is_known)
		say_connections(said, answer);
	else
		say_unknown(said, answer, room);
	say_growth(said, answer);
	say_together(said, answer);
	say_recycling(said, answer);
	if (answer->kind == NULL)
		say_server(said, record, room);
}
