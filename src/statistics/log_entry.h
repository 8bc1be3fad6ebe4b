/*
 * log_entry.h
 *	  What one line of a log says, and who: a server's log as plain text with any prefix, as
 *	  csvlog or jsonlog, or a log of containers or of the system around that.
 *
 * The reader trusts nothing, allocates nothing and never throws.  What an entry refers to is the
 * line, or the room that came with it.
 */
#pragma once

#include "statistics/text_span.h"

/* Texts without the quotes and escapes of their form. */
#define PLH_LOG_ENTRY_ROOM (16 * 1024)

typedef struct PlhLogRoom
{
	Size		used;
	char		text[PLH_LOG_ENTRY_ROOM];
} PlhLogRoom;

/* What a line is, as far as it has a word for that. */
typedef enum PlhLogSeverity
{
	PLH_LOG_NONE,				/* it has no such word */
	PLH_LOG_DETAIL,				/* of the entry before */
	PLH_LOG_HINT,				/* the same */
	PLH_LOG_STATEMENT,			/* the same */
	PLH_LOG_CONTEXT,			/* the same */
	PLH_LOG_FURTHER,			/* QUERY, LOCATION: the same */
	PLH_LOG_MESSAGE				/* LOG, ERROR, FATAL, PANIC, WARNING ... */
} PlhLogSeverity;

typedef struct PlhLogEntry
{
	PlhLogSeverity severity;
	PlhTextSpan text;			/* the message, or the whole line */
	PlhTextSpan detail;			/* of csvlog and jsonlog, as the next three;
								 * else empty */
	PlhTextSpan hint;
	PlhTextSpan context;
	PlhTextSpan statement;
	int64		pid;			/* 0: not said */
	bool		is_whole;		/* of csvlog or jsonlog: its text has no
								 * prefix */
} PlhLogEntry;

extern PlhLogEntry plh_log_entry_read(PlhTextSpan line, PlhLogRoom *room);
