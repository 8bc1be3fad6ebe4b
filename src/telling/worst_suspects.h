/*
 * worst_suspects.h
 *	  The worst suspects of all processes, found in a short time.
 *
 * Never called inside palloc.
 */
#pragma once

#include "reader/server_figures.h"
#include "telling/suppression.h"

/* More than a server has at once, and few enough for who stores them. */
#define PLH_WORST_SUSPECTS 10

/* What several processes of a type are suspect of alike. */
typedef struct PlhWorstSuspect
{
	const char *backend_type;
	const char *verdict;
	const char *context_name;	/* NULL where it is about no contexts */
	const char *site;			/* NULL where it is about none */
	bool		has_rate;		/* of one of them, at least */
	int64		bytes;			/* that it is about, of all processes */
	int64		bytes_per_hour;
} PlhWorstSuspect;

typedef struct PlhWorstSuspects
{
	int			found;			/* findings, of all processes */
	int			unjudged;		/* processes for which no time was left */
	int			count;
	PlhWorstSuspect *suspects;	/* the worst first, at most PLH_WORST_SUSPECTS */
} PlhWorstSuspects;

/*
 * The result belongs to the current memory context.  Processes are judged, the
 * largest first, until 15 ms after the caller has begun, by CLOCK_MONOTONIC, and for
 * 3 ms at least; names of sites are waited for up to 200 ms more.
 */
extern PlhWorstSuspects *plh_worst_suspects_find(const PlhServerFigures *figures,
												 const PlhSuppressions *suppressions,
												 PlhRoleFilter may_see,
												 int64 begun_us);
