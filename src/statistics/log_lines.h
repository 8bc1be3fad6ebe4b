/*
 * log_lines.h
 *	  The lines of a text that comes in pieces, however long they are.
 *
 * Of a line that is longer than the room, only its begin is handed on.
 */
#pragma once

#include "statistics/text_span.h"

#define PLH_LOG_LINE_ROOM (32 * 1024)

typedef void (*PlhLogLineTaker) (void *arg, PlhTextSpan line);

typedef struct PlhLogLines
{
	PlhLogLineTaker take;
	void	   *arg;
	Size		used;
	char		line[PLH_LOG_LINE_ROOM];	/* as far as it has come */
} PlhLogLines;

extern void plh_log_lines_begin(PlhLogLines *lines, PlhLogLineTaker take, void *arg);
extern void plh_log_lines_add(PlhLogLines *lines, PlhTextSpan piece);

/* Hand on the last line, if no newline ends it. */
extern void plh_log_lines_end(PlhLogLines *lines);
