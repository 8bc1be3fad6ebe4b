/*
 * capacity_looks.h
 *	  Adds what the keeper has seen of sessions to the record of capacity.
 *
 * Pure functions: they allocate nothing and call nothing of the server.  Only the keeper has a
 * record that it adds to.
 */
#pragma once

#include "reader/capacity_layout.h"

/* What sessions have whose kind has no room. */
#define PLH_CAPACITY_NO_KIND (-1)

/* A session, as one look sees it. */
typedef struct PlhCapacitySession
{
	int			kind;			/* index; or PLH_CAPACITY_NO_KIND */
	int64		age_us;
	int64		session_bytes;	/* what it keeps, whatever it runs */
	int64		statement_bytes;	/* what it has beyond that */
	bool		is_told_apart;	/* else all is taken for what it keeps, which
								 * later looks may correct */
	bool		is_active;		/* a statement runs, or a transaction is open */
	bool		is_counted;		/* its parts are known */
	int64		parts[PLH_CAPACITY_PARTS];	/* of session_bytes */
} PlhCapacitySession;

extern void plh_capacity_looks_begin(PlhCapacityRecord *record, uint64 cluster, TimestampTz now);

/*
 * The sessions of the last look are gone, as the server has stopped: what they had is part of the
 * past.
 */
extern void plh_capacity_looks_end_all(PlhCapacityRecord *record);

/* The age, as an index of points, of a session. */
extern int	plh_capacity_looks_age(int64 age_us);

/*
 * The kind of a session that a look sees now; one that is new may take the place of another one
 * that this look, of that time, has not seen.
 */
extern int	plh_capacity_looks_kind(PlhCapacityRecord *record, Oid role, const char *application,
									TimestampTz now);

/*
 * A session is seen, and was seen by a former look as "before"; NULL if it is new.  What it had then
 * is part of the past if it has left that age, or that kind.
 */
extern void plh_capacity_looks_follow(PlhCapacityRecord *record, const PlhCapacitySession *before,
									  const PlhCapacitySession *seen);

/* It is gone since the look that has seen it so. */
extern void plh_capacity_looks_leave(PlhCapacityRecord *record, const PlhCapacitySession *session);

/* Add a look at all sessions, "passed_us" after the one before it; 0 after a start. */
extern void plh_capacity_looks_add(PlhCapacityRecord *record, const PlhCapacitySession *sessions,
								   int count, TimestampTz now, int64 passed_us);
