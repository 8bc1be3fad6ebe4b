/*
 * server_processes.c
 *	  The processes of this server, as the kernel knows them.
 *
 * All of it is read from /proc.  Any process may be gone at any time.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "storage/procarray.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "reader/server_processes.h"

/* What our library is called, wherever it is. */
#define MODULE_FILE "/pg_leakhunt.so"

/* Room for the path of a file in /proc/PID, and for a line of "status". */
#define PROC_PATH_BYTES 64
#define STATUS_LINE_BYTES 256

/*
 * Is that a process of this server, the postmaster included?  If not, a WARNING
 * says so, as core's functions do.
 */
bool
plh_server_processes_check(int pid)
{
	/* the logger is known to nobody but the postmaster */
	if (pid > 0 &&
		(pid == PostmasterPid || BackendPidGetProc(pid) != NULL ||
		 AuxiliaryPidGetProc(pid) != NULL || pid == MyProcPid ||
		 (PostmasterPid > 0 && plh_process_facts_parent(pid) == PostmasterPid)))
		return true;
	ereport(WARNING,
			(errmsg("PID %d is not a PostgreSQL server process", pid)));
	return false;
}

/*
 * Has that process loaded pg_leakhunt?
 */
PlhLoaded
plh_server_processes_loaded(int pid)
{
	char		path[PROC_PATH_BYTES];
	char		line[PLH_PATH_MAX];
	PlhLoaded	loaded = PLH_LOADED_UNKNOWN;
	FILE	   *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = AllocateFile(path, "r");
	while (maps != NULL && loaded != PLH_LOADED &&
		   fgets(line, sizeof(line), maps) != NULL)
		loaded = strstr(line, MODULE_FILE) != NULL ? PLH_LOADED :
			PLH_NOT_LOADED;
	if (maps != NULL)
		FreeFile(maps);
	return loaded;
}

/*
 * RssAnon of a process in bytes, -1 if it is not to be had.
 */
int64
plh_server_processes_rss_anon(int pid)
{
	char		path[PROC_PATH_BYTES];
	char		line[STATUS_LINE_BYTES];
	long long	kilobytes = -1;
	FILE	   *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = AllocateFile(path, "r");
	while (status != NULL && kilobytes < 0 &&
		   fgets(line, sizeof(line), status) != NULL)
		(void) sscanf(line, "RssAnon: %lld kB", &kilobytes);
	if (status != NULL)
		FreeFile(status);
	return kilobytes < 0 ? -1 : kilobytes * 1024;
}

/*
 * The postmaster and its children, as a list of pids; a standalone backend
 * alone.
 */
List *
plh_server_processes_list(void)
{
	DIR		   *dir;
	struct dirent *entry;
	List	   *pids;

	if (!IsUnderPostmaster)
		return list_make1_int(MyProcPid);
	pids = list_make1_int(PostmasterPid);
	dir = AllocateDir("/proc");
	while ((entry = ReadDir(dir, "/proc")) != NULL)
	{
		int			pid = atoi(entry->d_name);

		if (pid > 0 && plh_process_facts_parent(pid) == PostmasterPid)
			pids = lappend_int(pids, pid);
	}
	FreeDir(dir);
	return pids;
}
