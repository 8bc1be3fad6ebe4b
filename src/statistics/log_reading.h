/*
 * log_reading.h
 *	  What a text says of memory: statistics of contexts, messages of the server, reports of the
 *	  kernel.
 *
 * The text may be a log of any size, or what somebody has pasted, with any bytes.  It comes in
 * pieces.  A reading has a fixed size, and all that is kept is in it: whoever reads provides it.
 * Nothing here allocates, throws, or calls anything of the server.
 */
#pragma once

#include "statistics/log_lines.h"
#include "statistics/memory_message.h"
#include "statistics/oom_report.h"
#include "statistics/statistics_rows.h"

/* Of more, those of the largest processes are kept, of each the first and the last. */
#define PLH_READING_STATISTICS 8

/* Where statistics come from: what to do next differs. */
typedef enum PlhReadFrom
{
	PLH_READ_FROM_TEXT,
	PLH_READ_FROM_PROCESS,
	PLH_READ_FROM_CORE
} PlhReadFrom;

typedef struct PlhLogReading
{
	PlhReadFrom from;
	int64		found;			/* statistics in the text */
	int			kept;			/* of these */
	int64		now_pid;		/* that the last line was of; 0: not known */
	bool		rows_only;		/* nothing but rows is looked for */
	PlhLogLines lines;
	PlhLogRoom	room;
	PlhStatisticsRows rows;
	PlhMemoryMessages messages;
	PlhOomReport oom;
	PlhStatistics statistics[PLH_READING_STATISTICS];	/* in the order of the
														 * text */
} PlhLogReading;

extern void plh_log_reading_begin(PlhLogReading *reading, bool rows_only);
extern void plh_log_reading_add(PlhLogReading *reading, const char *data, Size bytes);
extern void plh_log_reading_end(PlhLogReading *reading);
