/*
 * server_activity.c
 *	  What the server's own statistics know of its processes, as pg_stat_activity shows it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_status.h"

#include "base/compat.h"
#include "reader/server_activity.h"

/* The name of a process' type: of a background worker, what it calls itself. */
static const char *
type_of(const PgBackendStatus *status)
{
	const char *type = NULL;

	if (status->st_backendType == B_BG_WORKER)
		type = GetBackgroundWorkerTypeByPid(status->st_procpid);
	return type != NULL ? pstrdup(type) : GetBackendTypeDesc(status->st_backendType);
}

/* The words of pg_stat_activity for what a process does. */
static const char *
state_of(const PgBackendStatus *status)
{
	static const char *const names[] = {
		[STATE_IDLE] = "idle",
		[STATE_RUNNING] = "active",
		[STATE_IDLEINTRANSACTION] = "idle in transaction",
		[STATE_FASTPATH] = "fastpath function call",
		[STATE_IDLEINTRANSACTION_ABORTED] = "idle in transaction (aborted)"
	};

	return status->st_state < lengthof(names) ? names[status->st_state] : NULL;
}

/* The leader of a parallel worker; 0 for all other processes. */
static int
leader_of(const PgBackendStatus *status)
{
	const PGPROC *proc = status->st_backendType == B_BG_WORKER ?
		BackendPidGetProc(status->st_procpid) : NULL;

	/* it may end meanwhile */
	const PGPROC *leader = proc == NULL ? NULL : proc->lockGroupLeader;

	return leader == NULL || leader->pid == status->st_procpid ? 0 : leader->pid;
}

static void
fill(PlhServerActivity *activity, const PgBackendStatus *status)
{
	activity->pid = status->st_procpid;
	activity->backend_type = type_of(status);
	activity->database_oid = status->st_databaseid;
	activity->role_oid = status->st_userid;
	activity->started_at = status->st_proc_start_timestamp;
	activity->application_name = status->st_appname;
	activity->state = state_of(status);
	activity->state_since = activity->state == NULL ? 0 : status->st_state_start_timestamp;
	activity->leader_pid = leader_of(status);
	activity->is_client = status->st_backendType == B_BACKEND;
}

int
plh_server_activity_count(void)
{
	return pgstat_fetch_stat_numbackends();
}

bool
plh_server_activity_at(int number, PlhServerActivity *activity)
{
	LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(number + 1);

	if (local == NULL || local->backendStatus.st_procpid == 0)
		return false;
	fill(activity, &local->backendStatus);
	return true;
}

/* What the statistics have of a process; NULL for none. */
static const PgBackendStatus *
status_of(int pid)
{
	int			count = pgstat_fetch_stat_numbackends();

	for (int i = 1; i <= count; i++)
	{
		LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);

		if (local != NULL && local->backendStatus.st_procpid == pid)
			return &local->backendStatus;
	}
	return NULL;
}

bool
plh_server_activity_find(int pid, PlhServerActivity *activity)
{
	const PgBackendStatus *status = status_of(pid);

	if (status == NULL)
		return false;
	fill(activity, status);
	return true;
}

bool
plh_server_activity_query(int pid, PlhServerQuery *query)
{
	const PgBackendStatus *status = status_of(pid);

	if (status == NULL || state_of(status) == NULL || status->st_activity_start_timestamp == 0)
		return false;
	query->text = pgstat_clip_activity(status->st_activity_raw);
	query->query_id = (int64) status->st_query_id;
	query->started_at = status->st_activity_start_timestamp;
	query->runs = status->st_state == STATE_RUNNING || status->st_state == STATE_FASTPATH;
	return query->text[0] != '\0';
}

int
plh_server_activity_workers(int leader_pid, int *pids, int room)
{
	int			count = pgstat_fetch_stat_numbackends();
	int			found = 0;

	for (int i = 1; i <= count && found < room; i++)
	{
		LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);

		if (local != NULL && local->backendStatus.st_backendType == B_BG_WORKER &&
			leader_of(&local->backendStatus) == leader_pid)
			pids[found++] = local->backendStatus.st_procpid;
	}
	return found;
}
