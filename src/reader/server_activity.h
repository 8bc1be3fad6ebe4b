/*
 * server_activity.h
 *	  What the server's own statistics know of its processes, as pg_stat_activity shows it.
 *
 * Whoever asks decides who may see that.  Within a transaction all answers are of one time, as
 * those of pg_stat_activity are.  Texts belong to the current memory context, or to the
 * transaction.  Never called inside palloc.
 */
#pragma once

#include "datatype/timestamp.h"

typedef struct PlhServerActivity
{
	int			pid;
	const char *backend_type;
	Oid			database_oid;	/* InvalidOid if there is none */
	Oid			role_oid;
	TimestampTz started_at;
	const char *application_name;
	const char *state;			/* "active", "idle", ...; NULL: not known */
	TimestampTz state_since;	/* 0 if the process does not say */
	int			leader_pid;		/* of a parallel worker; else 0 */
	bool		is_client;		/* it is the session of a client */
} PlhServerActivity;

/* May whoever asks see what is of that role, or of none (InvalidOid)? */
typedef bool (*PlhRoleFilter) (Oid role);

/* The statement that a process is running, or has run last. */
typedef struct PlhServerQuery
{
	const char *text;			/* cut as in pg_stat_activity */
	int64		query_id;		/* 0: none was computed */
	TimestampTz started_at;
	bool		runs;			/* it is not over */
} PlhServerQuery;

/* Returns false if the statistics have none of that process. */
extern bool plh_server_activity_query(int pid, PlhServerQuery *query);

/* Returns false if the statistics have no such process, such as the logger. */
extern bool plh_server_activity_find(int pid, PlhServerActivity *activity);

/* All of them, by numbers from 0 on; false for a number that has none. */
extern int	plh_server_activity_count(void);
extern bool plh_server_activity_at(int number, PlhServerActivity *activity);

/* The parallel workers of a leader, up to "room" of them.  Returns how many these are. */
extern int	plh_server_activity_workers(int leader_pid, int *pids, int room);
