/*
 * log_reading.c
 *	  What a text says of memory: statistics of contexts, messages of the server, reports of the
 *	  kernel.
 *
 * Statistics that a process writes to its standard error have two blanks for each level, behind
 * whatever a system's log, a container's or a mail puts in front of each line.  That is what
 * precedes TopMemoryContext, and each further line must have it, but for its figures.  Those of
 * pg_log_backend_memory_contexts are messages of the log, each with its level and its process.
 */
#include "postgres.h"

#include "statistics/log_reading.h"

/* After so many lines of others, statistics are over. */
#define MOST_IDLE_LINES 2000

/* Between the statistics of a process that runs out of memory and its message there is little. */
#define MOST_LINES_TO_FAILURE 3

/* A tab is as wide as that, where blanks were turned into tabs. */
#define TAB_COLUMNS 8

static void take_line(void *arg, PlhTextSpan line);

void
plh_log_reading_begin(PlhLogReading *reading, bool rows_only)
{
	reading->from = PLH_READ_FROM_TEXT;
	reading->found = reading->kept = 0;
	reading->now_pid = 0;
	reading->rows_only = rows_only;
	memset(&reading->rows, 0, sizeof(reading->rows));
	memset(&reading->messages, 0, sizeof(reading->messages));
	memset(&reading->oom, 0, sizeof(reading->oom));
	plh_log_lines_begin(&reading->lines, take_line, reading);
}

/* How many statistics of a process are kept.  Each without an id counts as one of its own. */
static int
kept_of(const PlhLogReading *reading, int64 pid)
{
	int			count = 0;

	if (pid == 0)
		return 1;
	for (int i = 0; i < reading->kept; i++)
		count += reading->statistics[i].pid == pid;
	return count;
}

/* Is it neither the first nor the last of its process? */
static bool
is_between(const PlhLogReading *reading, int index)
{
	int64		pid = reading->statistics[index].pid;
	bool		has_first = false;
	bool		has_last = false;

	for (int i = 0; i < reading->kept; i++)
	{
		has_first |= i < index && reading->statistics[i].pid == pid;
		has_last |= i > index && reading->statistics[i].pid == pid;
	}
	return pid != 0 && has_first && has_last;
}

/* Which statistics go for others: some between others of their process, or the smallest. */
static int
find_victim(const PlhLogReading *reading)
{
	int			smallest = -1;

	for (int i = 0; i < reading->kept; i++)
	{
		const PlhStatistics *statistics = &reading->statistics[i];

		if (statistics->is_open)
			continue;
		if (is_between(reading, i))
			return i;
		if (kept_of(reading, statistics->pid) == 1 &&
			(smallest < 0 || statistics->bytes < reading->statistics[smallest].bytes))
			smallest = i;
	}
	return Max(smallest, 0);
}

/* Begin statistics of a process, in the place of others if there is no room. */
static PlhStatistics *
begin_statistics(PlhLogReading *reading, int64 pid)
{
	if (reading->kept == PLH_READING_STATISTICS)
	{
		int			victim = find_victim(reading);

		reading->kept--;
		memmove(&reading->statistics[victim], &reading->statistics[victim + 1],
				sizeof(PlhStatistics) * (reading->kept - victim));
	}
	plh_statistics_begin(&reading->statistics[reading->kept], ++reading->found, pid);
	return &reading->statistics[reading->kept++];
}

/*
 * The statistics whose end has not come: of a process, in messages of a log, or on a standard
 * error.  NULL: there are none.
 */
static PlhStatistics *
find_open(PlhLogReading *reading, bool is_logged, int64 pid)
{
	for (int i = reading->kept - 1; i >= 0; i--)
	{
		PlhStatistics *statistics = &reading->statistics[i];

		if (statistics->is_open && !statistics->is_by_rows &&
			statistics->is_logged == is_logged && (!is_logged || statistics->pid == pid))
			return statistics;
	}
	return NULL;
}

/* Is a byte of a prefix one of a figure, such as of a time? */
static bool
is_figure(char c)
{
	return isdigit((unsigned char) c);
}

/*
 * The bytes of a line that are what precedes TopMemoryContext in its line, if figures may differ;
 * -1: the line has another prefix.
 */
static ssize_t
match_prefix(PlhTextSpan prefix, PlhTextSpan line)
{
	Size		at = 0;

	for (Size i = 0; i < prefix.bytes;)
	{
		if (at == line.bytes)
			return -1;
		if (is_figure(prefix.data[i]) && is_figure(line.data[at]))
		{
			while (i < prefix.bytes && is_figure(prefix.data[i]))
				i++;
			while (at < line.bytes && is_figure(line.data[at]))
				at++;
		}
		else if (prefix.data[i++] != line.data[at++])
			return -1;
	}
	return at;
}

/* How far to the right a line begins, and what begins there. */
static int64
indent_of(PlhTextSpan *line)
{
	int64		indent = 0;

	while (line->bytes > 0 && plh_text_span_is_blank(line->data[0]))
	{
		indent += line->data[0] == '\t' ? TAB_COLUMNS : 1;
		*line = plh_text_span_behind(*line, 1);
	}
	return indent;
}

/* Without what quotes a line in a mail, or draws a line at its left. */
static PlhTextSpan
without_quotes(PlhTextSpan line)
{
	while (line.bytes > 0 && (line.data[0] == '>' || line.data[0] == '|'))
		line = plh_text_span_behind(line, 1);
	return line;
}

/* Add a line of statistics on one context that a process wrote to its standard error. */
static void
add_plain(PlhStatistics *statistics, PlhContextLine *line)
{
	PlhTextSpan prefix = {statistics->prefix, statistics->prefix_bytes};
	PlhTextSpan before = line->before;
	ssize_t		matched = match_prefix(prefix, before);
	int64		indent;

	before = without_quotes(plh_text_span_behind(before, Max(matched, 0)));
	indent = indent_of(&before);
	if (line->kind == PLH_CONTEXT_LINE_ONE)
		line->name = plh_text_span_first(before, before.bytes - strlen(": "));
	plh_statistics_add(statistics, line, indent);
}

/* The bytes in front of TopMemoryContext; -1: it is not this line's. */
static ssize_t
find_top(const PlhContextLine *line)
{
	static const char top[] = "TopMemoryContext: ";
	ssize_t		at = line->kind != PLH_CONTEXT_LINE_ONE ? -1 :
		plh_text_span_find(line->before, top, 0);

	return at >= 0 && at + strlen(top) == line->before.bytes ? at : -1;
}

/* End statistics of a process, if some are open. */
static void
close_open(PlhLogReading *reading, bool is_logged, int64 pid)
{
	PlhStatistics *open = find_open(reading, is_logged, pid);

	if (open != NULL)
		open->is_open = false;
}

/* Note what a process had asked for in vain when it wrote its statistics. */
static void
note_failure(PlhStatistics *statistics, PlhMemoryMessage *message)
{
	statistics->failed_bytes = (int64) Min(message->bytes, (uint64) PG_INT64_MAX);
	statistics->pid = message->pid;
	strlcpy(statistics->failed_context, message->context, sizeof(statistics->failed_context));
	strlcpy(statistics->failed_statement, message->statement,
			sizeof(statistics->failed_statement));
	message->has_statistics = true;
}

/* Is it a message, or a detail of one, on memory that a process did not get? */
static bool
is_failure(const PlhMemoryMessage *message)
{
	return message->kind == PLH_MESSAGE_OUT_OF_MEMORY && message->bytes != 0;
}

/*
 * TopMemoryContext begins, behind a prefix.  Where somebody has sorted a text for a document, the
 * message on what failed comes first.
 */
static void
begin_tree(PlhLogReading *reading, PlhStatistics *statistics, PlhTextSpan prefix)
{
	PlhMemoryMessage *message = &reading->messages.pending;

	statistics->prefix_bytes = Min(prefix.bytes, sizeof(statistics->prefix));
	memcpy(statistics->prefix, prefix.data, statistics->prefix_bytes);
	if (is_failure(message) && !message->has_statistics)
		note_failure(statistics, message);
}

/* A line on a context or several, of a process' standard error. */
static void
take_plain(PlhLogReading *reading, PlhContextLine *line)
{
	ssize_t		top = find_top(line);
	PlhStatistics *statistics;

	if (top >= 0)
		close_open(reading, false, 0);
	statistics = find_open(reading, false, 0);
	if (statistics == NULL)
		statistics = begin_statistics(reading, 0);
	if (top >= 0)
		begin_tree(reading, statistics, plh_text_span_first(line->before, top));
	add_plain(statistics, line);
}

/* A line of statistics that is a message of a log, with its level. */
static void
take_logged(PlhLogReading *reading, const PlhContextLine *line, int64 pid)
{
	PlhStatistics *statistics = find_open(reading, true, pid);

	if (statistics != NULL && statistics->contexts > 0 && find_top(line) >= 0)
	{
		statistics->is_open = false;
		statistics = NULL;
	}
	if (statistics == NULL)
		statistics = begin_statistics(reading, pid);
	statistics->is_logged = true;
	plh_statistics_add(statistics, line, line->level);
}

static void
take_total(PlhStatistics *statistics, const PlhContextLine *line)
{
	if (statistics == NULL)
		return;
	statistics->grand_bytes = line->total_bytes;
	statistics->is_open = false;
}

/* "logging memory contexts of PID N" introduces those of pg_log_backend_memory_contexts. */
static bool
take_introduction(PlhLogReading *reading, const PlhLogEntry *entry)
{
	PlhTextSpan rest = entry->text;
	int64		pid;

	if (!plh_text_span_skip(&rest, "logging memory contexts of PID ") ||
		!plh_text_span_number(&rest, &pid))
		return false;
	close_open(reading, true, pid);
	begin_statistics(reading, pid)->is_logged = true;
	reading->now_pid = pid;
	return true;
}

/* The process that a message of statistics is of: where its prefix does not tell, the last one. */
static int64
pid_of(const PlhLogReading *reading, const PlhLogEntry *entry)
{
	return entry->pid != 0 ? entry->pid : reading->now_pid;
}

/* Take a line of statistics.  False: it is none. */
static bool
take_statistics(PlhLogReading *reading, const PlhLogEntry *entry)
{
	PlhContextLine line;

	if (entry->severity == PLH_LOG_MESSAGE && take_introduction(reading, entry))
		return true;
	if (entry->severity != PLH_LOG_MESSAGE && entry->severity != PLH_LOG_NONE)
		return false;
	line = plh_context_line_read(entry->text);
	if (line.kind == PLH_CONTEXT_LINE_NONE)
		return false;
	if (line.kind == PLH_CONTEXT_LINE_TOTAL)
		take_total(find_open(reading, entry->severity == PLH_LOG_MESSAGE,
							 pid_of(reading, entry)), &line);
	else if (entry->severity == PLH_LOG_MESSAGE && line.level >= 0)
		take_logged(reading, &line, pid_of(reading, entry));
	else
		take_plain(reading, &line);
	return true;
}

/* Dots stand for lines that somebody has left out; a mail quotes them, too. */
static bool
is_left_out(PlhTextSpan line)
{
	PlhTextSpan text = plh_text_span_trim(line);

	while (plh_text_span_skip(&text, ">"))
		text = plh_text_span_trim(text);
	return plh_text_span_is(text, "...") || plh_text_span_is(text, "[...]");
}

/* Statistics are over when so many lines of others have followed. */
static void
count_idle_line(PlhLogReading *reading, PlhTextSpan line)
{
	for (int i = 0; i < reading->kept; i++)
	{
		PlhStatistics *statistics = &reading->statistics[i];

		if (!statistics->is_open)
			continue;
		statistics->is_cut |= is_left_out(line);
		statistics->is_open = ++statistics->idle_lines < MOST_IDLE_LINES;
	}
}

/*
 * A process that runs out of memory writes its statistics, and then the message that tells its id
 * and what it had asked for; at last comes its statement.
 */
static void
join_failure(PlhLogReading *reading, const PlhLogEntry *entry)
{
	PlhMemoryMessage *message = &reading->messages.pending;
	PlhStatistics *last = reading->kept == 0 ? NULL : &reading->statistics[reading->kept - 1];

	if (last == NULL || last->is_by_rows || entry->severity == PLH_LOG_NONE ||
		!is_failure(message))
		return;
	if (message->has_statistics ? last->pid == message->pid && last->failed_bytes > 0 :
		last->pid == 0 && last->failed_bytes == 0 && last->idle_lines <= MOST_LINES_TO_FAILURE)
	{
		note_failure(last, message);
		last->is_open = false;
	}
}

static PlhStatistics *
open_rows(PlhLogReading *reading)
{
	PlhStatistics *last = reading->kept == 0 ? NULL : &reading->statistics[reading->kept - 1];

	if (last != NULL && last->is_by_rows && last->is_open)
		return last;
	last = begin_statistics(reading, 0);
	last->is_by_rows = true;
	return last;
}

static void
add_row(PlhLogReading *reading)
{
	plh_statistics_rows_add(&reading->rows, open_rows(reading));
}

static void
end_rows(PlhLogReading *reading)
{
	PlhStatistics *last = reading->kept == 0 ? NULL : &reading->statistics[reading->kept - 1];

	if (plh_statistics_rows_end(&reading->rows))
		add_row(reading);
	reading->rows.is_active = reading->rows.is_expanded = false;
	if (last != NULL && last->is_by_rows)
		last->is_open = false;
}

/* Take a line of rows of a view.  False: it is none. */
static bool
take_rows(PlhLogReading *reading, PlhTextSpan line)
{
	switch (plh_statistics_rows_take(&reading->rows, line))
	{
		case PLH_ROWS_NOT:
			return false;
		case PLH_ROWS_ROW:
			add_row(reading);
			return true;
		case PLH_ROWS_END:
			end_rows(reading);
			return true;
		default:
			return true;
	}
}

/* PlhLogLineTaker */
static void
take_line(void *arg, PlhTextSpan line)
{
	PlhLogReading *reading = arg;
	PlhLogEntry entry;

	if (take_rows(reading, line) || reading->rows_only)
		return;
	entry = plh_log_entry_read(line, &reading->room);
	if (take_statistics(reading, &entry))
		return;
	count_idle_line(reading, entry.text);
	plh_memory_message_take(&reading->messages, &entry);
	join_failure(reading, &entry);
	if (entry.severity == PLH_LOG_NONE)
		plh_oom_report_take(&reading->oom, entry.text);
}

void
plh_log_reading_add(PlhLogReading *reading, const char *data, Size bytes)
{
	PlhTextSpan text = {data, bytes};

	plh_log_lines_add(&reading->lines, text);
}

void
plh_log_reading_end(PlhLogReading *reading)
{
	plh_log_lines_end(&reading->lines);
	end_rows(reading);
	plh_memory_message_end(&reading->messages);
}
