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
#include "nodes/value.h"
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
 * The files of code that a process has mapped, each once, in the order of their
 * addresses; NIL if its maps can't be read.  Removed ones are left out.
 */
List *
plh_server_processes_binaries(int pid)
{
	char		path[PROC_PATH_BYTES];
	char		line[PLH_PATH_MAX];
	List	   *binaries = NIL;
	FILE	   *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = AllocateFile(path, "r");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	{
		char	   *file = strchr(line, '/');
		char	   *protection = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (file == NULL || protection == NULL ||
			strncmp(protection, " r-xp", 5) != 0 ||
			strstr(file, " (deleted)") != NULL)
			continue;
		binaries = list_append_unique(binaries, makeString(pstrdup(file)));
	}
	if (maps != NULL)
		FreeFile(maps);
	return binaries;
}

/*
 * Does the title of a process, as ps shows it, end with that text?
 */
bool
plh_server_processes_is_titled(int pid, const char *end)
{
	char		path[PROC_PATH_BYTES];
	char		title[STATUS_LINE_BYTES] = "";
	FILE	   *command;
	Size		length;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	command = AllocateFile(path, "r");
	if (command == NULL)
		return false;
	if (fgets(title, sizeof(title), command) == NULL)
		title[0] = '\0';
	FreeFile(command);

	/* the server pads titles with blanks */
	for (length = strlen(title); length > 0 && title[length - 1] == ' '; length--)
		title[length - 1] = '\0';
	return length >= strlen(end) && strcmp(title + length - strlen(end), end) == 0;
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
