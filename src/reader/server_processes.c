/*
 * server_processes.c
 *	  Lists the processes of this server, and what the kernel knows of them.
 *
 * All facts come from /proc.  A file there may vanish at any time, with its
 * process: then the answer is that nothing is known, not an ERROR.
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

/* The name of our library, wherever it is installed. */
#define MODULE_FILE "/pg_leakhunt.so"

/* Room for the path of a file in /proc/PID, and for a line of "status". */
#define PROC_PATH_BYTES 64
#define STATUS_LINE_BYTES 256

/*
 * Is this a process of the server, the postmaster included?
 */
bool
plh_server_processes_has(int pid)
{
	/* PostgreSQL has no record of the logger: its parent tells what it is */
	return pid > 0 &&
		(pid == PostmasterPid || BackendPidGetProc(pid) != NULL ||
		 AuxiliaryPidGetProc(pid) != NULL || pid == MyProcPid ||
		 (PostmasterPid > 0 && plh_process_facts_parent(pid) == PostmasterPid));
}

/*
 * Is this a process of the server?  If not, a WARNING says so in the words of
 * pg_terminate_backend.
 */
bool
plh_server_processes_check(int pid)
{
	if (plh_server_processes_has(pid))
		return true;
	ereport(WARNING,
			(errmsg("PID %d is not a PostgreSQL server process", pid)));
	return false;
}

/*
 * Has a process loaded pg_leakhunt?  Its memory map says so.
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
 * The private memory of a process that is in RAM (RssAnon), in bytes; -1 if
 * the kernel does not tell it.
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
 * The pids of the postmaster and its children; in a standalone backend, only
 * its own.
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
