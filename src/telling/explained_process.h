/*
 * explained_process.h
 *	  What is known of a process before it is explained.
 */
#pragma once

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/statements_layout.h"
#include "reader/server_processes.h"

typedef struct PlhExplainedProcess
{
	int			pid;
	const PlhProfileImage *image;	/* NULL without a profile */
	const PlhBaseline *baseline;	/* NULL without one */
	const char *backend_type;	/* NULL where not known, as the next four */
	const char *username;
	const char *database;
	const char *application_name;
	const char *state;			/* what it does, as in pg_stat_activity */
	TimestampTz state_since;	/* 0 where state is NULL */
	int64		rss_anon_bytes; /* now; -1 if it is gone */
	int			leader_pid;		/* of a parallel worker; else 0 */
	int			worker_count;	/* parallel workers that it has now */
	const char *workers;		/* their pids, as a list */
	int64		worker_bytes;	/* private memory of all of these */
	int64		rss_shared_bytes;	/* shared memory that it has touched; now,
									 * or 0 */
	int64		page_table_bytes;	/* of the kernel's, for it; the same */
	const PlhStatementEntry *largest;	/* of its calls since a day ago, the
										 * one that took most; NULL if not
										 * known */
	bool		is_exiting;		/* what it held is freed with it */
	PlhLoaded	loaded;
	TimestampTz now;			/* of a process that is gone, its end */
} PlhExplainedProcess;
