/*
 * context_line.c
 *	  One line of statistics of memory contexts, in the form of any release from 9.6 on.
 *
 * All releases write "NAME: N total in N blocks; ...; N used", and from 11 on ": IDENT" behind
 * that.  What stands between differs by release and by kind of context:
 *
 *	  N free (N chunks);				all kinds until 10, and AllocSet since
 *	  N total in N blocks (N chunks);	Generation
 *	  N empty blocks; N free (...);		Slab from 16 on
 *	  N free;							Bump, from 17 on
 *
 * So a line is read from the words that all have, outwards.
 */
#include "postgres.h"

#include "statistics/context_line.h"

#define TOTAL_WORDS " total in "
#define GRAND_TOTAL "Grand total: "
#define MORE_WORDS " more child contexts containing "
#define LEVEL_WORDS "level: "

/* The number whose last digit is in front of that position.  False: none is there. */
static bool
number_before(PlhTextSpan line, Size end, Size *start, int64 *number)
{
	PlhTextSpan digits;

	*start = end;
	while (*start > 0 && isdigit((unsigned char) line.data[*start - 1]))
		--* start;
	digits = plh_text_span_first(plh_text_span_behind(line, *start), end - *start);
	return plh_text_span_number(&digits, number);
}

/* Read "N free", "N used" and the like.  Returns what follows the last of them. */
static PlhTextSpan
read_figures(PlhContextLine *read, PlhTextSpan rest)
{
	PlhTextSpan behind = rest;
	bool		has_used = false;

	while (rest.bytes > 0 && !has_used)
	{
		int64		number;

		if (!plh_text_span_number(&rest, &number))
		{
			rest = plh_text_span_behind(rest, 1);
			continue;
		}
		if (plh_text_span_skip(&rest, " free"))
			read->free_bytes = number;
		else if (plh_text_span_skip(&rest, " used"))
			has_used = true;
		behind = rest;
	}
	read->is_cut = !has_used;
	return behind;
}

/* Where the figures of a context begin: at "N total in N block".  False: there are none. */
static bool
find_figures(PlhContextLine *read, PlhTextSpan line, Size *start, PlhTextSpan *rest)
{
	ssize_t		words = plh_text_span_find(line, TOTAL_WORDS, 0);

	for (; words >= 0; words = plh_text_span_find(line, TOTAL_WORDS, words + 1))
	{
		*rest = plh_text_span_behind(line, words + strlen(TOTAL_WORDS));
		if (number_before(line, words, start, &read->total_bytes) &&
			plh_text_span_number(rest, &read->blocks) &&
			(plh_text_span_skip(rest, " block") || rest->bytes == 0))
			return true;
	}
	return false;
}

/* "N more child contexts containing", in front of figures. */
static bool
is_more(PlhContextLine *read, PlhTextSpan before)
{
	ssize_t		words = plh_text_span_find(before, MORE_WORDS, 0);
	Size		start;

	return words >= 0 && words + strlen(MORE_WORDS) == before.bytes &&
		number_before(before, words, &start, &read->contexts);
}

static bool
has_letter(PlhTextSpan span)
{
	for (Size i = 0; i < span.bytes; i++)
		if (isalpha((unsigned char) span.data[i]))
			return true;
	return false;
}

/* Skip "level: N; ", as the server's log has it from 14 on, and what quotes it. */
static void
skip_level(PlhContextLine *read, PlhTextSpan *before)
{
	ssize_t		found = plh_text_span_find(*before, LEVEL_WORDS, 0);
	PlhTextSpan rest;
	int64		level;

	if (found < 0 || has_letter(plh_text_span_first(*before, found)))
		return;
	rest = plh_text_span_behind(*before, found + strlen(LEVEL_WORDS));
	if (plh_text_span_number(&rest, &level) && plh_text_span_skip(&rest, "; "))
	{
		read->level = level;
		*before = rest;
	}
}

static PlhContextLine
read_total(PlhTextSpan rest)
{
	PlhContextLine read = {.kind = PLH_CONTEXT_LINE_TOTAL,.level = -1};

	if (!plh_text_span_number(&rest, &read.total_bytes) ||
		!plh_text_span_skip(&rest, " bytes in ") ||
		!plh_text_span_number(&rest, &read.blocks))
		read.kind = PLH_CONTEXT_LINE_NONE;
	read_figures(&read, rest);
	return read;
}

PlhContextLine
plh_context_line_read(PlhTextSpan line)
{
	PlhContextLine read = {.level = -1,.contexts = 1};
	ssize_t		grand = plh_text_span_find(line, GRAND_TOTAL, 0);
	PlhTextSpan before;
	PlhTextSpan rest;
	Size		start;

	if (grand >= 0)
		return read_total(plh_text_span_behind(line, grand + strlen(GRAND_TOTAL)));
	if (!find_figures(&read, line, &start, &rest))
		return read;
	before = plh_text_span_first(line, start);
	read.kind = PLH_CONTEXT_LINE_ONE;
	rest = read_figures(&read, rest);
	skip_level(&read, &before);
	if (is_more(&read, before))
		read.kind = PLH_CONTEXT_LINE_MORE;
	else if (before.bytes > 2 && before.data[before.bytes - 1] == ' ' &&
			 before.data[before.bytes - 2] == ':')
		read.name = plh_text_span_first(before, before.bytes - 2);
	else
		read.kind = PLH_CONTEXT_LINE_NONE;
	read.before = before;
	if (plh_text_span_skip(&rest, ":"))
		read.ident = plh_text_span_plain(plh_text_span_trim(rest));
	return read;
}
