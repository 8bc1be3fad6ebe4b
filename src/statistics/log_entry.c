/*
 * log_entry.c
 *	  What one line of a log says, and who.
 *
 * log_line_prefix can be anything.  What follows it is "LOG:  " or another such word, with two
 * blanks, which nothing in a prefix has in practice.  Where a log was copied from a table, the word
 * is a field between tabs, and has no colon.  The process' id is a number in brackets, or the first
 * one behind "pid", as nearly all prefixes have it.
 */
#include "postgres.h"

#include "statistics/log_entry.h"

typedef struct SeverityWord
{
	const char *word;
	PlhLogSeverity severity;
} SeverityWord;

static const SeverityWord severity_words[] = {
	{"LOG:", PLH_LOG_MESSAGE}, {"ERROR:", PLH_LOG_MESSAGE}, {"FATAL:", PLH_LOG_MESSAGE},
	{"PANIC:", PLH_LOG_MESSAGE}, {"WARNING:", PLH_LOG_MESSAGE}, {"NOTICE:", PLH_LOG_MESSAGE},
	{"INFO:", PLH_LOG_MESSAGE}, {"DEBUG:", PLH_LOG_MESSAGE}, {"DETAIL:", PLH_LOG_DETAIL},
	{"HINT:", PLH_LOG_HINT}, {"CONTEXT:", PLH_LOG_CONTEXT},
	{"STATEMENT:", PLH_LOG_STATEMENT}, {"QUERY:", PLH_LOG_FURTHER},
	{"LOCATION:", PLH_LOG_FURTHER}
};

/* A prefix is no longer than this. */
#define PREFIX_BYTES 512

/* Does a word begin there?  A tab ends only one that has a tab in front of it, too. */
static bool
begins_word(PlhTextSpan line, Size start, char end)
{
	char		before = start == 0 ? '\n' : line.data[start - 1];

	return end == '\t' ? before == '\t' : !isalpha((unsigned char) before);
}

/* The word that a colon or a tab ends, if it is one of those. */
static const SeverityWord *
word_before(PlhTextSpan line, Size end)
{
	if (line.data[end] != ':' && line.data[end] != '\t')
		return NULL;
	for (int i = 0; i < lengthof(severity_words); i++)
	{
		const char *word = severity_words[i].word;
		Size		bytes = strlen(word) - 1;

		if (end >= bytes && memcmp(line.data + end - bytes, word, bytes) == 0 &&
			begins_word(line, end - bytes, line.data[end]))
			return &severity_words[i];
	}
	return NULL;
}

/*
 * The number in a pair of brackets that begins there: "[N]" as %p makes it, or "[N-M]", as %p-%l
 * does.  "[N-1]" is the number of a line, as syslog has it; 0: it is neither.
 */
static int64
number_in_brackets(PlhTextSpan rest, bool *has_line)
{
	int64		number;
	int64		line = 0;

	if (!plh_text_span_skip(&rest, "[") || !plh_text_span_number(&rest, &number))
		return 0;
	*has_line = plh_text_span_skip(&rest, "-");
	if (*has_line && (!plh_text_span_number(&rest, &line) || line <= 1))
		return 0;
	/* 1 is no server's process, but systemd in front of a line of its log */
	return plh_text_span_skip(&rest, "]") && number > 1 ? number : 0;
}

/* The first number in brackets; one with the number of a line only if no other is there. */
static int64
pid_in_brackets(PlhTextSpan prefix)
{
	int64		with_line = 0;

	for (Size i = 0; i < prefix.bytes; i++)
	{
		bool		has_line = false;
		int64		number = prefix.data[i] != '[' ? 0 :
			number_in_brackets(plh_text_span_behind(prefix, i), &has_line);

		if (number > 0 && !has_line)
			return number;
		if (number > 0 && with_line == 0)
			with_line = number;
	}
	return with_line;
}

static int64
pid_in_prefix(PlhTextSpan prefix)
{
	int64		pid = pid_in_brackets(prefix);
	ssize_t		word = pid > 0 ? -1 : plh_text_span_find(prefix, "pid", 0);
	PlhTextSpan rest;

	if (word < 0)
		return pid;
	rest = plh_text_span_behind(prefix, word + strlen("pid"));
	while (rest.bytes > 0 && (rest.data[0] == ' ' || rest.data[0] == '=' || rest.data[0] == ':'))
		rest = plh_text_span_behind(rest, 1);
	return plh_text_span_number(&rest, &pid) ? pid : 0;
}

/* A line of plain text: the first such word ends its prefix. */
static PlhLogEntry
read_plain(PlhTextSpan line)
{
	PlhLogEntry entry = {.text = line};
	PlhTextSpan head = plh_text_span_first(line, PREFIX_BYTES);

	for (Size i = 0; i < head.bytes; i++)
	{
		const SeverityWord *word = word_before(head, i);

		if (word == NULL)
			continue;
		entry.severity = word->severity;
		entry.pid = pid_in_prefix(plh_text_span_first(line, i));
		entry.text = plh_text_span_trim(plh_text_span_behind(line, i + 1));
		break;
	}
	return entry;
}

/* Begin a text in the room. */
static char *
room_begin(PlhLogRoom *room)
{
	return room->text + room->used;
}

static void
room_put(PlhLogRoom *room, char c)
{
	if (room->used < sizeof(room->text))
		room->text[room->used++] = c;
}

static PlhTextSpan
room_end(const PlhLogRoom *room, const char *start)
{
	return (PlhTextSpan)
	{
		start, room->text + room->used - start
	};
}

/* Numbers of columns of csvlog, which are the same in all releases. */
#define CSV_PID 3
#define CSV_SQLSTATE 12
#define CSV_MESSAGE 13
#define CSV_DETAIL 14
#define CSV_HINT 15
#define CSV_CONTEXT 18
#define CSV_STATEMENT 19

/* The next field of csvlog, and whether another one follows. */
static bool
next_csv_field(PlhTextSpan *rest, PlhTextSpan *field, PlhLogRoom *room)
{
	const char *start = room_begin(room);
	bool		quoted = false;
	Size		i;

	for (i = 0; i < rest->bytes; i++)
	{
		char		c = rest->data[i];

		if (c == '"' && quoted && i + 1 < rest->bytes && rest->data[i + 1] == '"')
			room_put(room, rest->data[i++]);
		else if (c == '"')
			quoted = !quoted;
		else if (c == ',' && !quoted)
			break;
		else
			room_put(room, c);
	}
	*field = room_end(room, start);
	*rest = plh_text_span_behind(*rest, Min(i + 1, rest->bytes));
	return i < rest->bytes || rest->bytes > 0;
}

/* A SQLSTATE has five digits or capital letters. */
static bool
is_sqlstate(PlhTextSpan field)
{
	for (Size i = 0; i < field.bytes; i++)
		if (!isdigit((unsigned char) field.data[i]) && !isupper((unsigned char) field.data[i]))
			return false;
	return field.bytes == 5;
}

static bool
read_csv(PlhLogEntry *entry, PlhTextSpan line, PlhLogRoom *room)
{
	PlhTextSpan field;
	bool		is_csv = false;

	*entry = (PlhLogEntry)
	{
		.severity = PLH_LOG_MESSAGE,.is_whole = true
	};
	if (line.bytes == 0 || !isdigit((unsigned char) line.data[0]))
		return false;
	for (int column = 0; column <= CSV_STATEMENT && line.bytes > 0; column++)
	{
		/* only the texts that are asked for stay in the room */
		room->used = column <= CSV_MESSAGE ? 0 : room->used;
		(void) next_csv_field(&line, &field, room);
		if (column == CSV_PID && !plh_text_span_number(&field, &entry->pid))
			return false;
		if (column == CSV_SQLSTATE && !is_sqlstate(field))
			return false;
		if (column == CSV_MESSAGE)
		{
			entry->text = field;
			is_csv = true;
		}
		else if (column == CSV_DETAIL)
			entry->detail = field;
		else if (column == CSV_HINT)
			entry->hint = field;
		else if (column == CSV_CONTEXT)
			entry->context = field;
		else if (column == CSV_STATEMENT)
			entry->statement = field;
	}
	return is_csv;
}

/* Four digits of a character's code in JSON: those beyond ASCII become '?'. */
static char
json_code(PlhTextSpan *rest)
{
	char		digits[5] = {0};
	unsigned long code;

	memcpy(digits, rest->data, Min(4, rest->bytes));
	*rest = plh_text_span_behind(*rest, Min(4, rest->bytes));
	code = strtoul(digits, NULL, 16);
	return code == 0 || code > 0x7F ? '?' : (char) code;
}

/* A text of JSON, behind its first quote.  False: it has no end. */
static bool
read_json_text(PlhTextSpan *rest, PlhTextSpan *text, PlhLogRoom *room)
{
	const char *start = room_begin(room);
	bool		ended = false;

	while (rest->bytes > 0 && !ended)
	{
		char		c = rest->data[0];

		*rest = plh_text_span_behind(*rest, 1);
		if (c == '\\' && rest->bytes > 0)
		{
			c = rest->data[0];
			*rest = plh_text_span_behind(*rest, 1);
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'u' ? json_code(rest) : c;
			room_put(room, c);
		}
		else if (c == '"')
			ended = true;
		else
			room_put(room, c);
	}
	*text = room_end(room, start);
	return ended;
}

/*
 * Take what the value of a key says.  Those of objects within objects count, too, as programs that
 * collect logs nest what the server wrote.
 */
static void
take_json(PlhLogEntry *entry, PlhTextSpan key, PlhTextSpan value)
{
	if (plh_text_span_is(key, "message"))
		entry->text = value;
	else if ((plh_text_span_is(key, "log") || plh_text_span_is(key, "msg")) && entry->text.bytes == 0)
	{
		entry->text = value;
		entry->severity = PLH_LOG_NONE;
		entry->is_whole = false;
	}
	else if (plh_text_span_is(key, "detail"))
		entry->detail = value;
	else if (plh_text_span_is(key, "hint"))
		entry->hint = value;
	else if (plh_text_span_is(key, "context"))
		entry->context = value;
	else if (plh_text_span_is(key, "statement") || plh_text_span_is(key, "query"))
		entry->statement = value;
	else if (plh_text_span_is(key, "pid") || plh_text_span_is(key, "process_id"))
		(void) plh_text_span_number(&value, &entry->pid);
	if (plh_text_span_is(key, "message") || plh_text_span_is(key, "error_severity"))
	{
		entry->severity = PLH_LOG_MESSAGE;
		entry->is_whole = true;
	}
}

static bool
read_json(PlhLogEntry *entry, PlhTextSpan line, PlhLogRoom *room)
{
	PlhTextSpan key = {0};
	PlhTextSpan text;
	bool		has_key = false;

	*entry = (PlhLogEntry)
	{
		.severity = PLH_LOG_MESSAGE
	};
	if (line.bytes == 0 || line.data[0] != '{')
		return false;
	while (line.bytes > 0)
	{
		char		c = line.data[0];

		if (isdigit((unsigned char) c) && has_key)
		{
			take_json(entry, key, line);
			has_key = false;
		}
		line = plh_text_span_behind(line, 1);
		if (c == ',' || c == '{')
			has_key = false;
		if (c != '"' || !read_json_text(&line, &text, room))
			continue;
		if (has_key)
			take_json(entry, key, text);
		else
			key = text;
		has_key = !has_key;
	}
	return entry->text.bytes > 0;
}

PlhLogEntry
plh_log_entry_read(PlhTextSpan line, PlhLogRoom *room)
{
	PlhLogEntry entry;

	room->used = 0;
	if (read_json(&entry, line, room))
	{
		/* a log of containers has lines of the server's within its own */
		while (entry.text.bytes > 0 && entry.text.data[entry.text.bytes - 1] == '\n')
			entry.text.bytes--;
		return entry.is_whole ? entry : read_plain(entry.text);
	}
	if (read_csv(&entry, line, room))
		return entry;
	return read_plain(line);
}
