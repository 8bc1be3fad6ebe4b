/*
 * statistics.h
 *	  Statistics of the memory contexts of one process, as a text has them: added up by name.
 *
 * A text may list any number of contexts: what is kept has a fixed size.  Nothing here allocates
 * or throws.
 */
#pragma once

#include "profile/profile_layout.h"
#include "statistics/context_line.h"

#define PLH_STATISTICS_NAMES 384
#define PLH_STATISTICS_EXAMPLES 4
#define PLH_STATISTICS_RESTS 16
#define PLH_STATISTICS_LEVELS 64
#define PLH_STATISTICS_SIBLINGS 4

/* Names are NAMEDATALEN, and texts are cut to 100 bytes by the server. */
#define PLH_STATISTICS_NAME_ROOM 64
#define PLH_STATISTICS_TEXT_ROOM 128
#define PLH_STATISTICS_STATEMENT_ROOM 512

/* What some contexts of a name are of, by a scheme that misses nothing that has much. */
typedef struct PlhStatisticsExample
{
	int64		contexts;
	int64		bytes;
	int64		missed_bytes;	/* that it may have had before it was kept */
	char		text[PLH_STATISTICS_TEXT_ROOM];
} PlhStatisticsExample;

/* The contexts of a name and lifetime. */
typedef struct PlhStatisticsName
{
	char		name[PLH_STATISTICS_NAME_ROOM]; /* as in releases from 11 on */
	PlhLifetime lifetime;
	int64		contexts;		/* that are listed */
	int64		bytes;
	int64		free_bytes;		/* of these */
	int64		largest_bytes;	/* of one of them */
	int			example_count;
	PlhStatisticsExample examples[PLH_STATISTICS_EXAMPLES];
} PlhStatisticsName;

/* Contexts that are not listed one by one. */
typedef struct PlhStatisticsRest
{
	int			parent;			/* index of its name; -1: not known */
	int			like;			/* that of most of the listed ones beside
								 * them; -1: none has most */
	int64		listed;			/* how many of these there are */
	int64		alike;			/* and of that kind */
	int64		contexts;
	int64		bytes;
	int64		free_bytes;
} PlhStatisticsRest;

/* Children of a context of one kind, with all that is below them. */
typedef struct PlhStatisticsSiblings
{
	int			name;			/* index of the first */
	int64		contexts;
	int64		bytes;
} PlhStatisticsSiblings;

/* A context whose children may follow. */
typedef struct PlhStatisticsLevel
{
	int64		indent;			/* or level */
	int			name;			/* index */
	PlhLifetime lifetime;
	int			last;			/* kind of the child that came last */
	int			kinds;
	PlhStatisticsSiblings siblings[PLH_STATISTICS_SIBLINGS];
} PlhStatisticsLevel;

typedef struct PlhStatistics
{
	int64		number;			/* the first in the text is 1 */
	int64		pid;			/* 0: not known */
	bool		is_open;		/* its end has not come */
	bool		has_top;		/* TopMemoryContext is among them */
	bool		is_logged;		/* in messages of a log, each with its level */
	bool		is_by_rows;		/* of a view, in any order, without a total */
	bool		is_cut;			/* a line ends within its figures */
	bool		is_old;			/* of a release before 11 */
	int64		contexts;		/* all, listed or not */
	int64		bytes;
	int64		free_bytes;
	int64		grand_bytes;	/* the grand total; -1: not there */
	int64		failed_bytes;	/* that was asked for in vain; 0: not said */
	char		failed_context[PLH_STATISTICS_NAME_ROOM];
	char		failed_statement[PLH_STATISTICS_STATEMENT_ROOM];
	int64		idle_lines;		/* since the last line that belongs to it */
	Size		prefix_bytes;	/* what precedes TopMemoryContext in its line */
	char		prefix[PLH_STATISTICS_TEXT_ROOM];
	int			name_count;
	int			rest_count;
	int			depth;
	PlhStatisticsName names[PLH_STATISTICS_NAMES];
	PlhStatisticsRest rests[PLH_STATISTICS_RESTS];
	PlhStatisticsLevel levels[PLH_STATISTICS_LEVELS];
} PlhStatistics;

extern void plh_statistics_begin(PlhStatistics *statistics, int64 number, int64 pid);

/*
 * Add a line on one context, or on some that are not listed, which stands so far to the right; the
 * line on the latter may stand below their parent, or below its children.
 */
extern void plh_statistics_add(PlhStatistics *statistics, const PlhContextLine *line, int64 indent);

/*
 * Add a context that a row of a view tells of: its level is -1 where that is not known, and the
 * name of its parent may be empty.  The rows may be in any order.
 */
extern void plh_statistics_add_row(PlhStatistics *statistics, const PlhContextLine *row,
								   const char *parent);

/* The record that has the contexts of a name, whatever their lifetime; NULL if there is none. */
extern const PlhStatisticsName *plh_statistics_name(const PlhStatistics *statistics, int index);
