/*
 * statement_list.h
 *	  Copies of the entries of the file of statements, and their stacks.
 *
 * Never called inside palloc.  All of it belongs to the current memory context.
 */
#pragma once

#include "nodes/pg_list.h"

#include "profile/profile_image.h"
#include "profile/statements_layout.h"
#include "reader/server_activity.h"

typedef struct PlhListedStatement
{
	PlhStatementEntry entry;	/* with a NUL behind each text */
	uint32		index;			/* of that in the file */
	int64		kept_bytes;		/* what its calls have left in sessions that
								 * live, if the caller adds that */
	uint32		stack;			/* offset in the image; 0: not known */
	uint32		shared;			/* of a stack of its shared frames */
} PlhListedStatement;

typedef struct PlhStatementList
{
	List	   *statements;		/* of PlhListedStatement */
	PlhProfileImage *image;		/* that has the stacks, and nothing else */
} PlhStatementList;

/* What became of statements. */
typedef struct PlhStatementFigures
{
	int64		count;			/* that are there */
	int64		evicted;		/* that had to go for others */
	int64		lost;			/* calls that could not be counted */
} PlhStatementFigures;

/* Returns false where there is no file. */
extern bool plh_statement_list_figures(PlhStatementFigures *figures);

/* With a NUL behind each text.  Returns false if it is free, or no call has been counted. */
extern bool plh_statement_list_copy(PlhStatementEntry *copy, uint32 index);

/* The highest peak of a statement. */
typedef struct PlhStatementPeak
{
	int64		bytes;
	uint32		index;			/* of its entry */
	int			pid;			/* of the session that had it; 0: not known */
} PlhStatementPeak;

typedef struct PlhStatementPeaks
{
	int			count;
	PlhStatementPeak peaks[FLEXIBLE_ARRAY_MEMBER];	/* the highest first */
} PlhStatementPeaks;

/* Reads those that there are now, which is much faster than to copy the entries. */
extern PlhStatementPeaks *plh_statement_list_peaks(void);

/* Returns what there is now; an empty list where there is no file. */
extern PlhStatementList *plh_statement_list_read(PlhRoleFilter may_see);

/*
 * Returns a copy of the entry of the highest peak of a process that began then, in calls since that
 * time, as far as no other session's call of the same statement took more; NULL if there is none.
 */
extern const PlhStatementEntry *plh_statement_list_session_peak(const PlhStatementPeaks *peaks,
																int pid, TimestampTz started_at,
																TimestampTz since);
