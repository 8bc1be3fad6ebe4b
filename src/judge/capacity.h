/*
 * capacity.h
 *	  How many connections a host bears, by what sessions have grown to and what their statements
 *	  have taken at the same moment.
 *
 * Pure functions: they allocate nothing and call nothing of the server.
 */
#pragma once

#include "reader/capacity_layout.h"

/* What fewer looks, or fewer sessions of a kind, have seen is not judged. */
#define PLH_CAPACITY_LEAST_LOOKS 20
#define PLH_CAPACITY_LEAST_SESSIONS 3

/* What a session of a kind grows to. */
typedef struct PlhCapacityGrowth
{
	bool		is_known;		/* enough sessions were seen; else all is 0 */
	int64		bytes;			/* mean over sessions */
	int64		error_bytes;	/* 95% bound of that */
	int64		within_us;		/* age at which it is that, all but a bit */
	int64		oldest_us;		/* the oldest that enough sessions have
								 * reached */
	bool		goes_on;		/* it still grew at that age */
	bool		is_counted;		/* the parts are known, which add up to bytes
								 * with "rest" */
	int64		parts[PLH_CAPACITY_PARTS];
	int64		rest_bytes;
} PlhCapacityGrowth;

/* How many connections have room. */
typedef struct PlhCapacityConnections
{
	bool		is_known;		/* else all is 0 */
	int64		count;
	int64		low;			/* by the errors */
	int64		high;
	int64		statements_bytes;	/* what so many run together at most */
} PlhCapacityConnections;

/* What there is for sessions. */
typedef struct PlhCapacityRoom
{
	int64		bytes;			/* -1: not known */
	int64		once_bytes;		/* of each session, what its memory counts
								 * that exists once for all, as it was forked */
} PlhCapacityRoom;

/* Most connections that are counted to. */
#define PLH_CAPACITY_MOST INT64CONST(1000000)

extern PlhCapacityGrowth plh_capacity_growth(const PlhCapacityKind *kind);

/* What sessions of all kinds grow to, on average, without its parts or ages. */
extern PlhCapacityGrowth plh_capacity_growth_of_all(const PlhCapacityRecord *record);

/* How many connections there may be if all are of that kind. */
extern PlhCapacityConnections plh_capacity_of_kind(const PlhCapacityKind *kind,
												   const PlhCapacityRoom *room);

/* How many, if kinds have the parts that they had at all looks. */
extern PlhCapacityConnections plh_capacity_of_all(const PlhCapacityRecord *record,
												  const PlhCapacityRoom *room);

/*
 * What a session keeps on average over its life, if it ends at that age; -1: none was seen to grow
 * that old, or nothing is known.
 */
extern int64 plh_capacity_mean_until(const PlhCapacityKind *kind, int64 lifetime_us);

/* How many sessions of a kind the last look has seen. */
extern int64 plh_capacity_sessions_now(const PlhCapacityKind *kind);

/* What they would have less with such a lifetime; 0 where they do not grow older; -1: not known. */
extern int64 plh_capacity_saved(const PlhCapacityKind *kind, int64 lifetime_us);
