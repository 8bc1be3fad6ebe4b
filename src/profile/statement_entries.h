/*
 * statement_entries.h
 *	  What is told of statements, and kept in their file.
 *
 * These functions may be called inside palloc, except in a critical section; callers hold the
 * guard.
 */
#pragma once

#include "profile/profile_image.h"
#include "profile/statements_layout.h"

/* What a process had at the peak of a call. */
typedef struct PlhStatementShare
{
	int64		peak_bytes;
	double		variance;		/* of that */
	int64		samples;
	int64		private_bytes;	/* of the process, as counted; 0: it was not */
} PlhStatementShare;

/* The part that a process has in a call of a statement. */
typedef struct PlhStatementPart
{
	/* the statement */
	uint64		query_id;
	const char *text;
	Size		text_bytes;
	int32		encoding;
	Oid			database_oid;
	Oid			role_oid;

	/* the call, which is its session's */
	uint32		session;		/* number of the session's PGPROC */
	int32		pid;			/* of the session */
	TimestampTz start;
	TimestampTz peak_at;
	int64		allowed_bytes;	/* by settings */
	uint32		sample_interval;

	PlhStatementShare share;
	PlhStatementShare told;		/* of this, what was told before */

	/*
	 * what held most in this process; where it is not known, the last ones
	 * are NULL
	 */
	int32		process_pid;
	int64		top_bytes;
	const PlhProfileImage *image;
	const PlhSiteRecord *top;
	PlhSharedChain shared;		/* frames of the image */
} PlhStatementPart;

/* The entry of the statement of a part; NULL: it has none. */
extern const PlhStatementEntry *plh_statement_entries_find(const PlhStatementPart *part);

/* Is the peak of the call, with this part, the highest of its statement? */
extern bool plh_statement_entries_is_highest(const PlhStatementPart *part);

/*
 * Counts the part, and lets "told" be all of it.  Returns false if that can't be done now: for want
 * of room, or as the lock is not to be had.
 */
extern bool plh_statement_entries_tell(PlhStatementPart *part);

/* Counts a call that is over, and could not be told. */
extern void plh_statement_entries_count_lost(void);

/*
 * Removes the entries of a role, a database and a query id, each of which may be 0: then those of
 * all.  Returns false if the lock is not to be had.
 */
extern bool plh_statement_entries_reset(Oid role, Oid database, uint64 query_id);

/* Adds an entry of another file, whatever is in it, unless it makes no sense. */
extern void plh_statement_entries_restore(const PlhStatementEntry *former,
										  const PlhStatementModule *modules, uint32 module_count);

/* The name of a routine in an entry, with its length; NULL if it has none, whatever is in it. */
extern const char *plh_statement_entries_routine(const PlhStatementEntry *entry,
												 PlhFrame frame, Size *bytes);
