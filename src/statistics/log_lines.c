/*
 * log_lines.c
 *	  The lines of a text that comes in pieces, however long they are.
 */
#include "postgres.h"

#include "statistics/log_lines.h"

void
plh_log_lines_begin(PlhLogLines *lines, PlhLogLineTaker take, void *arg)
{
	lines->take = take;
	lines->arg = arg;
	lines->used = 0;
}

static void
keep(PlhLogLines *lines, PlhTextSpan part)
{
	Size		bytes = Min(part.bytes, PLH_LOG_LINE_ROOM - lines->used);

	memcpy(lines->line + lines->used, part.data, bytes);
	lines->used += bytes;
}

static void
hand_on(PlhLogLines *lines, PlhTextSpan line)
{
	while (line.bytes > 0 && line.data[line.bytes - 1] == '\r')
		line.bytes--;
	lines->take(lines->arg, line);
}

static PlhTextSpan
kept_text(const PlhLogLines *lines)
{
	PlhTextSpan text = {lines->line, lines->used};

	return text;
}

/* A line that is whole within the piece is handed on without a copy. */
static void
end_line(PlhLogLines *lines, PlhTextSpan last)
{
	if (lines->used == 0)
	{
		hand_on(lines, plh_text_span_first(last, PLH_LOG_LINE_ROOM));
		return;
	}
	keep(lines, last);
	hand_on(lines, kept_text(lines));
	lines->used = 0;
}

void
plh_log_lines_add(PlhLogLines *lines, PlhTextSpan piece)
{
	while (piece.bytes > 0)
	{
		const char *newline = memchr(piece.data, '\n', piece.bytes);

		if (newline == NULL)
		{
			keep(lines, piece);
			return;
		}
		end_line(lines, plh_text_span_first(piece, newline - piece.data));
		piece = plh_text_span_behind(piece, newline - piece.data + 1);
	}
}

void
plh_log_lines_end(PlhLogLines *lines)
{
	PlhTextSpan nothing = {lines->line, 0};

	if (lines->used > 0)
		end_line(lines, nothing);
}
