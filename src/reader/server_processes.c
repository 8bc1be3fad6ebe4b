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

#include "reader/server_processes.h"

/* Numbers of fields in /proc/PID/stat. */
#define STAT_PARENT 4
#define STAT_START_TIME 22

/* What our library is called, wherever it is. */
#define MODULE_FILE "/pg_leakhunt.so"

/* The start of a file in /proc, as text; false if there is no such file. */
static bool
read_start(const char *path, char *text, Size room)
{
	ssize_t		length;
	int			fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	length = read(fd, text, room - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return true;
}

/*
 * A field of /proc/PID/stat that is a number; 0 if there is no such process.
 */
static uint64
stat_field(int pid, int number)
{
	char		path[64];
	char		text[1024];
	char	   *field;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_start(path, text, sizeof(text)))
		return 0;

	/* the second field is a name in parentheses, which may hold anything */
	field = strrchr(text, ')');
	for (int i = 3; field != NULL && i <= number; i++)
		field = strchr(field + 1, ' ');
	return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/*
 * When a process started, in clock ticks since boot.  With the pid it tells one
 * process from all others; 0 if there is no such process.
 */
uint64
plh_server_processes_start_ticks(int pid)
{
	return stat_field(pid, STAT_START_TIME);
}

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
		 (PostmasterPid > 0 && stat_field(pid, STAT_PARENT) == PostmasterPid)))
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
	char		path[64];
	char		line[MAXPGPATH + 256];
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
 * What this process has in memory that no file backs and that is not shared, in
 * bytes; 0 if it is not to be had.
 */
int64
plh_server_processes_own_bytes(void)
{
	char		text[128];
	char	   *end;
	long		resident;

	if (!read_start("/proc/self/statm", text, sizeof(text)))
		return 0;

	/* the size of all, what is resident of it, and what is shared of that */
	(void) strtol(text, &end, 10);
	resident = strtol(end, &end, 10);
	return (int64) (resident - strtol(end, NULL, 10)) * sysconf(_SC_PAGESIZE);
}

/*
 * RssAnon of a process in bytes, -1 if it is not to be had.
 */
int64
plh_server_processes_rss_anon(int pid)
{
	char		path[64];
	char		line[256];
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

		if (pid > 0 && stat_field(pid, STAT_PARENT) == PostmasterPid)
			pids = lappend_int(pids, pid);
	}
	FreeDir(dir);
	return pids;
}
