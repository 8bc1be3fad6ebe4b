/*
 * reporter.h
 *	  Background workers that log findings which the keeper has seen.
 *
 * Each is connected to the database of these processes, which has the patterns of what
 * is not to be logged, and ends when it is done.  Never called inside palloc.
 */
#ifndef PLH_REPORTER_H
#define PLH_REPORTER_H

#define PLH_REPORTER_NAME "pg_leakhunt reporter"

/* A finding to log. */
typedef struct PlhReported
{
	int32		pid;
	uint64		key;			/* by plh_finding_key */
	int64		bytes;
} PlhReported;

/* The most that one worker gets: its argument has no more room. */
#define PLH_REPORTED_MOST 5

/* The findings to log of the processes of one database. */
typedef struct PlhReportOrder
{
	Oid			database;		/* InvalidOid: of processes that have none */
	int32		count;
	PlhReported findings[PLH_REPORTED_MOST];
} PlhReportOrder;

/* Returns false if no worker can be started now. */
extern bool plh_reporter_start(const PlhReportOrder *order);

#endif							/* PLH_REPORTER_H */
