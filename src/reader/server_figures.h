/*
 * server_figures.h
 *	  Sums of what all processes of this server hold, by backend type.
 *
 * Only the heads of profiles and proofs are read.  The figures are those of pg_leakhunt_processes,
 * with the same meaning, of processes that live.  Never called inside palloc.
 */
#pragma once

#include "reader/server_activity.h"

/*
 * More types than a server has.  Background workers name their own, so that there may be any
 * number: what is beyond is added up, and has no name.
 */
#define PLH_FIGURED_TYPES 16

/* The processes of one type. */
typedef struct PlhTypeFigures
{
	const char *backend_type;	/* NULL: not known, or too many */
	int64		processes;
	int64		rss_anon_bytes; /* of all of them */
	int64		rss_anon_max_bytes; /* of the largest */
	int64		counted;		/* number of those that have counted contexts */
	int64		context_bytes;	/* these have */
	int64		malloc_counted; /* number of those that know what malloc has */
	int64		malloc_bytes;
	int64		proven;			/* number of those that were proven */
	int64		lost_bytes;		/* of these, as each was last proven */
	int64		resettable_bytes;	/* of lost_bytes */
	TimestampTz oldest_proof_at;
} PlhTypeFigures;

/* A process with a profile. */
typedef struct PlhProfiledProcess
{
	int			pid;
	int64		rss_anon_bytes;
} PlhProfiledProcess;

typedef struct PlhServerFigures
{
	int			type_count;
	PlhTypeFigures types[PLH_FIGURED_TYPES + 1];	/* the last for the others */
	int			profiled_count;
	PlhProfiledProcess *profiled;	/* the largest first */
	int64		unsampled;		/* processes known to take no samples */
	int64		crashed;		/* profiles of processes that are gone */
	int64		live_bytes;
	int64		overhead_bytes;
	int64		samples_taken;
	int64		samples_dropped;
	int64		wrong_stacks;
} PlhServerFigures;

/* The type of a process that the server's statistics do not have, or NULL. */
typedef const char *(*PlhTypeOfOther) (int pid);

/* In the current memory context.  "is_preloaded": processes without a profile sample, too. */
extern PlhServerFigures *plh_server_figures_collect(const char *directory, bool is_preloaded,
													PlhRoleFilter may_see,
													PlhTypeOfOther type_of_other);
