/*
 * message_sentences.c
 *	  What messages about memory mean, what they leave open, and what to do.
 */
#include "postgres.h"

#include "judge/family.h"
#include "reader/redaction.h"
#include "report/one_line.h"
#include "report/words.h"
#include "statistics/message_sentences.h"

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 150

/* A single request from this size on is one value, array or hash table. */
#define LARGE_REQUEST INT64CONST(67108864)

static int64
signed_bytes(uint64 bytes)
{
	return (int64) Min(bytes, (uint64) PG_INT64_MAX);
}

static void
say_next(PlhSaid *said, PlhSentence sentence)
{
	PLH_LINE(said, true, next,.next = plh_sentences_phrase(sentence, true, PLH_FIELDS(NULL)));
}

static void
say(PlhSaid *said, PlhSentence sentence)
{
	plh_sentences_say(said, sentence, true, PLH_FIELDS(NULL));
}

static void
say_invalid_size(PlhSaid *said, const PlhMemoryMessage *message)
{
	uint64		bytes = message->bytes;
	const PlhFields fields = {
		.total = psprintf(UINT64_FORMAT, bytes),
		.name = psprintf(INT64_FORMAT, (int64) bytes),
		.bytes = plh_words_size(signed_bytes(bytes))
	};

	plh_sentences_line(said, PLH_SAYS_invalid_size, true, &fields);
	if (bytes > (uint64) PG_INT64_MAX)
		plh_sentences_say(said, PLH_SAYS_invalid_size_negative, true, &fields);
	else if (bytes >= PLH_MESSAGE_HUGE_BYTES)
		plh_sentences_say(said, PLH_SAYS_invalid_size_huge, true, &fields);
	else if ((bytes & (bytes - 1)) == 0)
		PLH_SAY(said, true, invalid_size_doubled,.bytes = plh_words_size(signed_bytes(bytes / 2)));
	else
		plh_sentences_say(said, PLH_SAYS_invalid_size_open, true, &fields);
	if (bytes >= PLH_MESSAGE_HUGE_BYTES)
	{
		say_next(said, PLH_SAYS_invalid_size_damaged);
		return;
	}
	say_next(said, PLH_SAYS_invalid_size_value);
	if ((bytes & (bytes - 1)) == 0)
		return;
	say(said, PLH_SAYS_invalid_size_ask);
	say(said, PLH_SAYS_invalid_size_damaged);
}

/* What parallel queries share, which is not malloc's. */
static void
say_no_dsa(PlhSaid *said, const PlhMemoryMessage *message)
{
	PLH_LINE(said, true, no_dsa,.bytes = plh_words_size(signed_bytes(message->bytes)));
	say_next(said, PLH_SAYS_no_dsa_help);
}

static void
say_no_memory(PlhSaid *said, const PlhMemoryMessage *message)
{
	bool		is_large = signed_bytes(message->bytes) >= LARGE_REQUEST;

	/* who asked for little is not who holds much */
	const PlhFamily *family = is_large ? plh_family_of(message->context) : NULL;
	const PlhFields fields = {
		.bytes = plh_words_size(signed_bytes(message->bytes)),
		.context = message->context
	};
	PlhSentence sentence = PLH_SAYS_no_memory_in;

	if (message->bytes == 0)
		sentence = PLH_SAYS_no_memory;
	else if (message->context[0] == '\0')
		sentence = PLH_SAYS_no_memory_size;
	plh_sentences_line(said, sentence, true, &fields);
	if (is_large)
		say(said, PLH_SAYS_no_memory_large);
	if (message->of_vacuum)
		say(said, PLH_SAYS_no_memory_vacuum);
	if (family != NULL)
		PLH_SAY(said, true, no_memory_family,.title = family->title,.what = family->what,
				.bound = family->bound);
	say(said, PLH_SAYS_no_memory_last);
	say(said, message->has_statistics ? PLH_SAYS_no_memory_see :
		PLH_SAYS_no_memory_ask);
	plh_sentences_line(said, PLH_SAYS_no_memory_limits, true, PLH_FIELDS(NULL));
	say_next(said, PLH_SAYS_no_memory_sum);
	if (message->of_vacuum)
		say(said, PLH_SAYS_no_memory_vacuum_help);
	else if (family != NULL)
		PLH_SAY(said, true, help,.help = family->help);
}

static void
say_shared_table(PlhSaid *said, const PlhMemoryMessage *message)
{
	if (message->of_predicates)
	{
		PLH_LINE(said, true, shared_table_predicates);
		say_next(said, PLH_SAYS_shared_table_predicates_help);
		return;
	}
	PLH_LINE(said, true, shared_table);
	say(said, PLH_SAYS_shared_table_size);
	say(said, PLH_SAYS_shared_table_ask);
	say_next(said, PLH_SAYS_shared_table_help);
}

static void
say_segment(PlhSaid *said, const PlhMemoryMessage *message)
{
	const PlhFields fields = {.bytes = plh_words_size(signed_bytes(message->bytes))};

	plh_sentences_line(said, PLH_SAYS_segment, true, &fields);
	if (message->no_space)
		say(said, PLH_SAYS_segment_full);
	if (message->no_memory)
		say(said, PLH_SAYS_segment_refused);
	say(said, PLH_SAYS_segment_size);
	PLH_LINE(said, true, next,.next = plh_sentences_phrase(PLH_SAYS_segment_help, true, &fields));
	say(said, PLH_SAYS_segment_or);
}

static void
say_fork(PlhSaid *said, const PlhMemoryMessage *message)
{
	PLH_LINE(said, true, fork,.name = message->context);
	if (message->no_memory)
		say(said, PLH_SAYS_fork_memory);
	else if (message->try_again)
		say(said, PLH_SAYS_fork_again);
	else
		say(said, PLH_SAYS_fork_open);
	say_next(said, PLH_SAYS_fork_help);
}

/* The server asks for all of its shared memory when it starts. */
static void
say_no_shared(PlhSaid *said, const PlhMemoryMessage *message)
{
	const PlhFields fields = {.bytes = plh_words_size(signed_bytes(message->bytes))};

	plh_sentences_line(said, message->bytes != 0 ? PLH_SAYS_no_shared_size : PLH_SAYS_no_shared,
					   true, &fields);
	say(said, PLH_SAYS_no_shared_why);
	say_next(said, PLH_SAYS_no_shared_help);
}

static void
say_unit_killed(PlhSaid *said, const PlhMemoryMessage *message, const PlhLogReading *reading)
{
	const PlhFields fields = {.name = message->context};

	if (message->by_oomd)
	{
		plh_sentences_line(said, PLH_SAYS_unit_killed_oomd, true, &fields);
		say_next(said, PLH_SAYS_unit_killed_oomd_help);
		return;
	}
	plh_sentences_line(said, message->by_kernel ? PLH_SAYS_unit_killed : PLH_SAYS_unit_killed_open,
					   true, &fields);
	say(said, reading->oom.count > 0 ? PLH_SAYS_signal_9_kernel : PLH_SAYS_unit_killed_ask);
	say(said, PLH_SAYS_unit_killed_all);
	say_next(said, PLH_SAYS_unit_killed_help);
}

static void
say_signal_9(PlhSaid *said, const PlhMemoryMessage *message, const PlhLogReading *reading)
{
	char	   *name = pstrdup(message->context);

	name[0] = pg_toupper((unsigned char) name[0]);
	PLH_LINE(said, true, signal_9,.name = name,.pid = message->pid);
	if (reading->oom.killed_pid != 0 && reading->oom.killed_pid == message->pid)
		say(said, PLH_SAYS_signal_9_kernel);
	else
		say(said, PLH_SAYS_signal_9_ask);
	say(said, PLH_SAYS_signal_9_restart);
	say(said, PLH_SAYS_signal_9_victim);
	if (reading->oom.killed_pid == 0)
		say_next(said, PLH_SAYS_signal_9_help);
}

void
plh_message_sentences_say(PlhSaid *said, const PlhMemoryMessage *message,
						  const PlhLogReading *reading)
{
	switch (message->kind)
	{
		case PLH_MESSAGE_INVALID_SIZE:
			say_invalid_size(said, message);
			break;
		case PLH_MESSAGE_OUT_OF_MEMORY:
			if (message->of_dsa)
				say_no_dsa(said, message);
			else
				say_no_memory(said, message);
			break;
		case PLH_MESSAGE_STRING_TOO_LONG:
			PLH_LINE(said, true, string_too_long);
			say_next(said, PLH_SAYS_string_too_long_help);
			break;
		case PLH_MESSAGE_SHARED_TABLE:
			say_shared_table(said, message);
			break;
		case PLH_MESSAGE_SEGMENT:
			say_segment(said, message);
			break;
		case PLH_MESSAGE_FORK:
			say_fork(said, message);
			break;
		case PLH_MESSAGE_SIGNAL_9:
			say_signal_9(said, message, reading);
			break;
		case PLH_MESSAGE_NO_SHARED:
			say_no_shared(said, message);
			break;
		case PLH_MESSAGE_UNIT_KILLED:
			say_unit_killed(said, message, reading);
			return;
		case PLH_MESSAGE_CONTAINER_KILLED:
			PLH_LINE(said, true, container_killed);
			say_next(said, PLH_SAYS_container_killed_help);
			break;
		case PLH_MESSAGE_VICTIM:
			PLH_LINE(said, true, victim);
			say_next(said, PLH_SAYS_victim_help);
			break;
		case PLH_MESSAGE_CLIENT:
			PLH_LINE(said, true, client);
			say_next(said, PLH_SAYS_client_help);
			break;
		case PLH_MESSAGE_NONE:
			return;
	}
	if (message->count > 1)
		PLH_LINE(said, true, message_times,.count = message->count);
	if (message->statement[0] != '\0')
		PLH_LINE(said, true, message_statement,
				 .query = plh_one_line(plh_redaction_statement(message->statement),
									   STATEMENT_COLUMNS));
}

/* What was full. */
static void
say_where(PlhSaid *said, const PlhOomReport *oom)
{
	if (!oom->of_group)
		say(said, oom->of_machine ? PLH_SAYS_oom_machine : PLH_SAYS_oom_where_open);
	else if (oom->limit_bytes > 0)
		PLH_SAY(said, true, oom_group_limit,.limit = plh_words_size(oom->limit_bytes));
	else
		PLH_SAY(said, true, oom_group);
	if (oom->of_group && oom->group[0] != '\0')
		PLH_SAY(said, true, oom_group_name,.name = oom->group);
}

static void
say_killed(PlhSaid *said, const PlhOomReport *oom)
{
	const PlhFields fields = {
		.name = oom->killed_name,
		.pid = oom->killed_pid,
		.bytes = plh_words_size(oom->killed_anon_bytes),
		.total = plh_words_size(oom->killed_shmem_bytes)
	};

	if (oom->killed_pid == 0)
		return;
	if (oom->killed_anon_bytes < 0)
		plh_sentences_line(said, PLH_SAYS_oom_killed_bare, true, &fields);
	else
		plh_sentences_line(said, oom->killed_shmem_bytes >= 0 ? PLH_SAYS_oom_killed :
						   PLH_SAYS_oom_killed_only, true, &fields);
}

/* Was the process that was killed one of a server's? */
static bool
is_of_server(const PlhOomReport *oom)
{
	return strcmp(oom->killed_name, "postgres") == 0 || strcmp(oom->killed_name, "postmaster") == 0;
}

/* Was it none, as far as its name tells? */
static bool
is_of_other(const PlhOomReport *oom)
{
	return oom->killed_name[0] != '\0' && !is_of_server(oom);
}

/*
 * The private memory of the server's processes, shared memory once; -1: it is not known.  Where the
 * table has only resident memory, that which was killed tells how much of it may be shared.
 */
static int64
server_bytes(const PlhOomReport *oom)
{
	if (oom->tells_apart)
		return oom->server.anon_bytes;
	if (!is_of_server(oom) || oom->killed_shmem_bytes < 0 || oom->server.processes == 0)
		return -1;
	return Max(oom->killed_anon_bytes, oom->server.rss_bytes -
			   oom->killed_shmem_bytes * Min(oom->server.processes, 100000));
}

static void
say_server(PlhSaid *said, const PlhOomReport *oom)
{
	const PlhOomSum *server = &oom->server;
	int64		own = server_bytes(oom);
	const PlhFields fields = {
		.count = server->processes,
		.bytes = plh_words_size(oom->tells_apart ? server->anon_bytes : server->rss_bytes),
		.total = plh_words_size(server->most_shmem_bytes),
		.most = plh_words_size(server->largest_bytes),
		.pid = server->largest_pid
	};

	if (server->processes == 0)
		return;
	plh_sentences_line(said, oom->tells_apart ? PLH_SAYS_oom_server : PLH_SAYS_oom_server_mixed,
					   true, &fields);
	if (!oom->tells_apart && own >= 0 && server->processes > 1)
		PLH_SAY(said, true, oom_server_at_most,.bytes = plh_words_size(own));
	if (server->processes > 1)
		plh_sentences_say(said, PLH_SAYS_oom_largest, true, &fields);
}

static void
say_others(PlhSaid *said, const PlhOomReport *oom)
{
	const PlhOomSum *others = &oom->others;

	if (others->processes > 0)
		PLH_LINE(said, true, oom_others,.count = others->processes,
				 .bytes = plh_words_size(oom->tells_apart ? others->anon_bytes : others->rss_bytes),
				 .name = others->largest_name,
				 .most = plh_words_size(others->largest_bytes));
}

/* Who took most of it, if that was not the server, as far as the text tells; NULL: it may have. */
static const char *
blamed_other(const PlhOomReport *oom)
{
	if (oom->server.processes + oom->others.processes == 0)
		return is_of_other(oom) ? oom->killed_name : NULL;
	return oom->others.rss_bytes > oom->server.rss_bytes ? oom->others.largest_name : NULL;
}

/* Whose memory it was. */
static void
say_blame(PlhSaid *said, const PlhOomReport *oom)
{
	int64		own = server_bytes(oom);
	int64		shared = Max(oom->server.most_shmem_bytes, Max(oom->killed_shmem_bytes, 0));
	const char *other = blamed_other(oom);
	bool		has_table = oom->server.processes + oom->others.processes > 0;

	if (other != NULL && has_table)
		PLH_LINE(said, true, oom_is_other,.name = other);
	else if (other != NULL)
		PLH_LINE(said, true, oom_is_not_server);
	if (other != NULL || !has_table)
		return;
	if (own < 0 || own + shared < oom->others.rss_bytes)
	{
		PLH_LINE(said, true, oom_open);
		return;
	}
	PLH_LINE(said, true, oom_is_server);
	if (oom->killed_anon_bytes >= own / 2 && own > 0)
		say(said, PLH_SAYS_oom_one);
	else
		say(said, PLH_SAYS_oom_many);
}

/* What to do: about another program, or about the server, in its group or on its machine. */
static void
say_oom_help(PlhSaid *said, const PlhOomReport *oom)
{
	const char *other = blamed_other(oom);

	if (other != NULL)
		PLH_LINE(said, true, next,.next = PLH_PHRASE(true, oom_help_other,.name = other));
	else if (!oom->of_group)
		say_next(said, PLH_SAYS_oom_help);
	else
		say_next(said, oom->killed_shmem_bytes > oom->killed_anon_bytes ?
				 PLH_SAYS_oom_help_shared : PLH_SAYS_oom_help_group);
}

void
plh_message_sentences_say_oom(PlhSaid *said, const PlhOomReport *oom)
{
	if (oom->count == 0)
		return;
	PLH_LINE(said, true, oom,.count = oom->count);
	say_where(said, oom);
	say_killed(said, oom);
	if (oom->has_no_head)
		PLH_LINE(said, true, oom_cut);
	say_server(said, oom);
	say_others(said, oom);
	say_blame(said, oom);
	say_oom_help(said, oom);
}
