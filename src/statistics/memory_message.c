/*
 * memory_message.c
 *	  What a server's log says of memory beside statistics of contexts: which message it is, and
 *	  its figures.
 *
 * In plain text, details of a message are lines of their own.  So the message waits for them until
 * the same process has written another one.
 */
#include "postgres.h"

#include "statistics/memory_message.h"

const char *
plh_memory_message_name(PlhMessageKind kind)
{
	static const char *const names[] = {
		[PLH_MESSAGE_NONE] = "none",
		[PLH_MESSAGE_INVALID_SIZE] = "invalid memory alloc request size",
		[PLH_MESSAGE_OUT_OF_MEMORY] = "out of memory",
		[PLH_MESSAGE_STRING_TOO_LONG] = "string buffer exceeds maximum allowed length",
		[PLH_MESSAGE_SHARED_TABLE] = "out of shared memory",
		[PLH_MESSAGE_SEGMENT] = "could not resize shared memory segment",
		[PLH_MESSAGE_FORK] = "could not fork",
		[PLH_MESSAGE_SIGNAL_9] = "was terminated by signal 9",
		[PLH_MESSAGE_NO_SHARED] = "could not map anonymous shared memory",
		[PLH_MESSAGE_UNIT_KILLED] = "killed by the OOM killer",
		[PLH_MESSAGE_CONTAINER_KILLED] = "OOMKilled",
		[PLH_MESSAGE_VICTIM] = "terminating connection because of crash of another server process",
		[PLH_MESSAGE_CLIENT] = "out of memory for query result"
	};

	return names[kind];
}

/* Read the number behind a text, wherever that stands.  One that somebody has masked is none. */
static bool
number_behind(PlhTextSpan text, const char *words, uint64 *number)
{
	ssize_t		found = plh_text_span_find(text, words, 0);
	PlhTextSpan rest;
	uint64		read;

	if (found < 0)
		return false;
	rest = plh_text_span_behind(text, found + strlen(words));
	if (!plh_text_span_unsigned(&rest, &read) ||
		(rest.bytes > 0 && isalpha((unsigned char) rest.data[0])))
		return false;
	*number = read;
	return true;
}

static bool
has(PlhTextSpan text, const char *words)
{
	return plh_text_span_find(text, words, 0) >= 0;
}

/* Copy what stands in quotes behind some words. */
static void
copy_quoted(char *to, Size room, PlhTextSpan text, const char *words)
{
	ssize_t		found = plh_text_span_find(text, words, 0);
	ssize_t		end;
	PlhTextSpan rest;

	if (found < 0)
		return;
	rest = plh_text_span_behind(text, found + strlen(words));
	end = plh_text_span_find(rest, "\"", 0);
	if (end >= 0)
		plh_text_span_copy(to, room, plh_text_span_first(rest, end));
}

/* The reason at the end of a message, as the C library words it. */
static void
read_reason(PlhMemoryMessage *message, PlhTextSpan text)
{
	message->no_space = has(text, "No space left on device");
	message->no_memory = has(text, "Cannot allocate memory");
	message->try_again = has(text, "Resource temporarily unavailable");
}

/* "server process (PID N) was terminated by signal 9", and the same of other kinds of processes. */
static bool
read_signal(PlhMemoryMessage *message, PlhTextSpan text)
{
	ssize_t		kind = plh_text_span_find(text, " (PID ", 0);
	uint64		pid;

	if (kind < 0 || !has(text, " was terminated by signal 9") ||
		!number_behind(text, " (PID ", &pid))
		return false;
	message->kind = PLH_MESSAGE_SIGNAL_9;
	message->pid = (int64) Min(pid, (uint64) PG_INT64_MAX);
	plh_text_span_copy(message->context, sizeof(message->context), plh_text_span_first(text, kind));
	return true;
}

/* "could not fork X: REASON". */
static bool
read_fork(PlhMemoryMessage *message, PlhTextSpan text)
{
	PlhTextSpan rest = text;
	ssize_t		colon;

	if (!plh_text_span_skip(&rest, "could not fork "))
		return false;
	colon = plh_text_span_find(rest, ":", 0);
	message->kind = PLH_MESSAGE_FORK;
	plh_text_span_copy(message->context, sizeof(message->context),
					   colon < 0 ? rest : plh_text_span_first(rest, colon));
	read_reason(message, text);
	return true;
}

/* Does systemd say in this way that a process of a service was ended for want of memory? */
static bool
tells_of_kill(PlhTextSpan text)
{
	return has(text, "of this unit has been killed by the OOM killer") ||
		has(text, "OOM killer killed some processes in this unit") ||
		has(text, ": systemd-oomd killed ") || has(text, ": Failed with result 'oom-kill'");
}

/* A program that watches a server is none. */
static bool
is_service_of_server(PlhTextSpan name)
{
	return (plh_text_span_begins(name, "postgres") || plh_text_span_begins(name, "pgsql") ||
			plh_text_span_begins(name, "patroni")) && !has(name, "exporter");
}

/*
 * "systemd[1]: NAME.service: A process of this unit has been killed by the OOM killer.", or what
 * other releases of systemd say; and that it failed with that result, which is said of the same
 * kill.
 */
static bool
read_unit(PlhMemoryMessage *message, PlhTextSpan text)
{
	ssize_t		end = plh_text_span_find(text, ".service: ", 0);
	Size		start = end;
	PlhTextSpan name;

	if (end < 0 || !tells_of_kill(text))
		return false;
	while (start > 0 && !plh_text_span_is_blank(text.data[start - 1]))
		start--;
	name = plh_text_span_first(plh_text_span_behind(text, start), end - start);
	if (!is_service_of_server(name))
		return false;
	message->kind = PLH_MESSAGE_UNIT_KILLED;
	message->by_kernel = has(text, "OOM killer");
	message->by_oomd = has(text, "systemd-oomd");
	plh_text_span_copy(message->context, sizeof(message->context), name);
	return true;
}

/* Words of others than the server: a client has the result, a container the limit. */
static bool
read_of_others(PlhMemoryMessage *message, PlhTextSpan text)
{
	if (has(text, "out of memory for query result") ||
		has(text, "Ran out of memory retrieving query results") ||
		has(text, "OutOfMemoryError: Java heap space"))
		message->kind = PLH_MESSAGE_CLIENT;
	else if (has(text, "OOMKilled"))
		message->kind = PLH_MESSAGE_CONTAINER_KILLED;
	else if (has(text, "terminating connection because of crash of another server process"))
		message->kind = PLH_MESSAGE_VICTIM;
	return message->kind != PLH_MESSAGE_NONE;
}

/* Find out which message it is, and its figures. */
static bool
read_message(PlhMemoryMessage *message, PlhTextSpan text)
{
	memset(message, 0, sizeof(*message));
	message->count = 1;
	if (read_of_others(message, text))
		return true;
	if (number_behind(text, "invalid memory alloc request size ", &message->bytes))
		message->kind = PLH_MESSAGE_INVALID_SIZE;
	else if (plh_text_span_begins(text, "out of shared memory"))
		message->kind = PLH_MESSAGE_SHARED_TABLE;
	else if (plh_text_span_begins(text, "out of memory"))
		message->kind = PLH_MESSAGE_OUT_OF_MEMORY;
	else if (plh_text_span_begins(text, "string buffer exceeds maximum allowed length"))
		message->kind = PLH_MESSAGE_STRING_TOO_LONG;
	else if (plh_text_span_begins(text, "could not resize shared memory segment"))
	{
		message->kind = PLH_MESSAGE_SEGMENT;
		(void) number_behind(text, "\" to ", &message->bytes);
		read_reason(message, text);
	}
	else if (plh_text_span_begins(text, "could not map anonymous shared memory"))
		message->kind = PLH_MESSAGE_NO_SHARED;
	else
		return read_fork(message, text) || read_signal(message, text) || read_unit(message, text);
	return true;
}

static void
read_detail(PlhMemoryMessage *message, PlhTextSpan detail)
{
	PlhTextSpan running = detail;

	if (message->kind == PLH_MESSAGE_OUT_OF_MEMORY && has(detail, "Cannot enlarge string buffer"))
		message->kind = PLH_MESSAGE_STRING_TOO_LONG;
	(void) number_behind(detail, "request of size ", &message->bytes);
	message->of_dsa |= has(detail, "on DSA request of size ");
	copy_quoted(message->context, sizeof(message->context), detail, "memory context \"");
	if (message->kind == PLH_MESSAGE_SIGNAL_9 &&
		plh_text_span_skip(&running, "Failed process was running: "))
		plh_text_span_copy(message->statement, sizeof(message->statement), running);
}

static void
read_hint(PlhMemoryMessage *message, PlhTextSpan hint)
{
	message->of_predicates |= has(hint, "max_pred_locks_per_transaction");
	if (message->kind == PLH_MESSAGE_NO_SHARED)
		(void) number_behind(hint, "(currently ", &message->bytes);
}

static void
read_context(PlhMemoryMessage *message, PlhTextSpan context)
{
	message->of_vacuum |= has(context, "automatic vacuum of table ") ||
		has(context, "while vacuuming ") || has(context, "while scanning block ") ||
		has(context, "while scanning relation ");
}

static void
read_statement(PlhMemoryMessage *message, PlhTextSpan statement)
{
	if (message->kind != PLH_MESSAGE_SIGNAL_9 && statement.bytes > 0)
		plh_text_span_copy(message->statement, sizeof(message->statement), statement);
}

/* Sizes that mean something else are told by themselves. */
static int
size_class(const PlhMemoryMessage *message)
{
	if (message->kind != PLH_MESSAGE_INVALID_SIZE)
		return 0;
	if (message->bytes >= PLH_MESSAGE_HUGE_BYTES)
		return message->bytes > (uint64) PG_INT64_MAX ? 3 : 2;
	return (message->bytes & (message->bytes - 1)) == 0;
}

/* Are they told together? */
static bool
is_same(const PlhMemoryMessage *left, const PlhMemoryMessage *right)
{
	return left->kind == right->kind && strcmp(left->context, right->context) == 0 &&
		left->of_predicates == right->of_predicates &&
		left->of_vacuum == right->of_vacuum && left->of_dsa == right->of_dsa &&
		left->no_space == right->no_space &&
		left->no_memory == right->no_memory && left->try_again == right->try_again &&
		size_class(left) == size_class(right);
}

/* That which the message that waits is told together with; NULL if there is none. */
static PlhMemoryMessage *
find_same(PlhMemoryMessages *messages)
{
	for (int i = 0; i < messages->count; i++)
		if (is_same(&messages->list[i], &messages->pending))
			return &messages->list[i];
	return NULL;
}

/* Enter the message that waits for its details. */
static void
enter_pending(PlhMemoryMessages *messages)
{
	const PlhMemoryMessage *pending = &messages->pending;
	PlhMemoryMessage *same;

	if (pending->kind == PLH_MESSAGE_NONE)
		return;
	same = find_same(messages);
	if (same != NULL)
	{
		same->count++;
		same->has_statistics |= pending->has_statistics;
		same->by_kernel |= pending->by_kernel;
		same->by_oomd |= pending->by_oomd;
		same->bytes = Max(same->bytes, pending->bytes);
	}
	else if (messages->count < PLH_MESSAGES)
		messages->list[messages->count++] = *pending;
	else
		messages->left_out++;
	messages->pending.kind = PLH_MESSAGE_NONE;
}

void
plh_memory_message_end(PlhMemoryMessages *messages)
{
	enter_pending(messages);
}

/* A new message, which ends the one before if it is of the same process or of that kind, too. */
static void
begin_message(PlhMemoryMessages *messages, const PlhLogEntry *entry, bool is_of_last)
{
	PlhMemoryMessage *pending = &messages->pending;
	PlhMemoryMessage read;
	bool		is_one = read_message(&read, entry->text);

	if (is_one || is_of_last)
		enter_pending(messages);
	if (!is_one)
		return;
	*pending = read;
	pending->pid = read.pid != 0 ? read.pid : entry->pid;
	messages->last_pid = entry->pid;
	read_detail(pending, entry->detail);
	read_hint(pending, entry->hint);
	read_context(pending, entry->context);
	read_statement(pending, entry->statement);
}

/* Words by which a message is known where nothing introduces it, as in what clients show. */
static PlhTextSpan
find_bare(PlhTextSpan line)
{
	static const char *const words[] = {
		"invalid memory alloc request size ", "out of shared memory",
		"could not resize shared memory segment", "could not map anonymous shared memory",
		"out of memory for query result", "Ran out of memory retrieving query results",
		"OutOfMemoryError: Java heap space", "OOMKilled",
		"terminating connection because of crash of another server process",
		"string buffer exceeds maximum allowed length"
	};
	PlhTextSpan text = plh_text_span_trim(line);

	if (plh_text_span_is(text, "out of memory") ||
		(has(text, ".service: ") && tells_of_kill(text)))
		return text;
	for (int i = 0; i < lengthof(words); i++)
	{
		ssize_t		found = plh_text_span_find(line, words[i], 0);

		if (found >= 0)
			return plh_text_span_behind(line, found);
	}
	return (PlhTextSpan)
	{
		line.data, 0
	};
}

/*
 * A line that nothing introduces, or a word of a client's own, such as "Detail:" or "Hint:" in the
 * user's language.
 */
static void
take_bare(PlhMemoryMessages *messages, const PlhLogEntry *entry, bool is_of_last)
{
	PlhLogEntry bare = *entry;

	bare.text = find_bare(entry->text);
	if (bare.text.bytes > 0)
		begin_message(messages, &bare, is_of_last);
	else if (is_of_last && has(entry->text, "request of size "))
		read_detail(&messages->pending, entry->text);
	else if (is_of_last)
		read_hint(&messages->pending, entry->text);
}

void
plh_memory_message_take(PlhMemoryMessages *messages, const PlhLogEntry *entry)
{
	PlhMemoryMessage *pending = &messages->pending;
	bool		is_of_last = pending->kind != PLH_MESSAGE_NONE &&
		(entry->pid == 0 || messages->last_pid == 0 || entry->pid == messages->last_pid);

	if (entry->severity == PLH_LOG_MESSAGE)
		begin_message(messages, entry, is_of_last);
	else if (entry->severity == PLH_LOG_NONE)
		take_bare(messages, entry, is_of_last);
	else if (!is_of_last)
		return;
	else if (entry->severity == PLH_LOG_DETAIL)
		read_detail(pending, entry->text);
	else if (entry->severity == PLH_LOG_HINT)
		read_hint(pending, entry->text);
	else if (entry->severity == PLH_LOG_CONTEXT)
		read_context(pending, entry->text);
	else if (entry->severity == PLH_LOG_STATEMENT)
		read_statement(pending, entry->text);
}
