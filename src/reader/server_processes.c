/*
 * server_processes.c
 *	  Lists the processes of this server, and what the kernel knows of them.
 *
 * All facts come from /proc.  A file there may vanish at any time, with its process: then the
 * answer is that nothing is known, not an ERROR.
 */
#include "postgres.h"

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

/* Room for the title of a process, and for a line of its status. */
#define TITLE_BYTES 256

/* Open a file of a process in /proc; NULL if it is gone, or we may not. */
static FILE *
open_proc(int pid, const char *name)
{
	char		path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return AllocateFile(path, "r");
}

/* Is this a process of the server, the postmaster included? */
bool
plh_server_processes_has(int pid)
{
	/* PostgreSQL has no record of the logger: its parent tells what it is */
	return pid > 0 &&
		(pid == PostmasterPid || BackendPidGetProc(pid) != NULL ||
		 AuxiliaryPidGetProc(pid) != NULL || pid == MyProcPid ||
		 (PostmasterPid > 0 && plh_process_facts_parent(pid) == PostmasterPid));
}

/* The words are those of pg_terminate_backend. */
bool
plh_server_processes_check(int pid)
{
	if (plh_server_processes_has(pid))
		return true;
	ereport(WARNING, (errmsg("PID %d is not a PostgreSQL server process", pid)));
	return false;
}

PlhLoaded
plh_server_processes_loaded(int pid)
{
	char		line[PLH_PATH_MAX];
	PlhLoaded	loaded = PLH_LOADED_UNKNOWN;
	FILE	   *maps = open_proc(pid, "maps");

	while (maps != NULL && loaded != PLH_LOADED && fgets(line, sizeof(line), maps) != NULL)
		loaded = strstr(line, MODULE_FILE) != NULL ? PLH_LOADED : PLH_NOT_LOADED;
	if (maps != NULL)
		FreeFile(maps);
	return loaded;
}

void
plh_server_processes_memory(int pid, PlhProcessMemory *memory)
{
	const struct
	{
		const char *format;
		int64	   *bytes;
	}			figures[] = {
		{"RssAnon: %ld", &memory->private_bytes}, {"RssShmem: %ld", &memory->shared_bytes},
		{"VmPTE: %ld", &memory->page_table_bytes}, {"VmSwap: %ld", &memory->swapped_bytes}
	};
	char		line[TITLE_BYTES];
	long		kilobytes;
	FILE	   *status = open_proc(pid, "status");

	memset(memory, 0, sizeof(*memory));
	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		for (int i = 0; i < lengthof(figures); i++)
			if (sscanf(line, figures[i].format, &kilobytes) == 1)
				*figures[i].bytes = (int64) kilobytes * 1024;
	if (status != NULL)
		FreeFile(status);
}

int64
plh_server_processes_share(int pid)
{
	char		line[TITLE_BYTES];
	long		kilobytes;
	int64		bytes = -1;
	FILE	   *rollup = open_proc(pid, "smaps_rollup");

	while (rollup != NULL && fgets(line, sizeof(line), rollup) != NULL)
		if (sscanf(line, "Pss_Anon: %ld", &kilobytes) == 1)
			bytes = (int64) kilobytes * 1024;
	if (rollup != NULL)
		FreeFile(rollup);
	return bytes;
}

List *
plh_server_processes_binaries(int pid)
{
	char		line[PLH_PATH_MAX];
	List	   *binaries = NIL;
	FILE	   *maps = open_proc(pid, "maps");

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	{
		char	   *file = strchr(line, '/');
		char	   *protection = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (file == NULL || protection == NULL ||
			strncmp(protection, " r-xp", 5) != 0 || strstr(file, " (deleted)") != NULL)
			continue;
		binaries = list_append_unique(binaries, makeString(pstrdup(file)));
	}
	if (maps != NULL)
		FreeFile(maps);
	return binaries;
}

/* Does the title of a process, as ps shows it, end with that text? */
bool
plh_server_processes_is_titled(int pid, const char *end)
{
	char		title[TITLE_BYTES] = "";
	FILE	   *command = open_proc(pid, "cmdline");
	Size		length;

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

/* The pids of the postmaster and its children; in a standalone backend, only its own. */
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

/*
 * The same by a list that the kernel keeps, if it does: one file instead of one for each process of
 * the machine.  A child may be missing whose neighbour in the list exits meanwhile.
 */
List *
plh_server_processes_children(void)
{
	char		name[64];
	List	   *pids;
	FILE	   *children;
	int			pid;

	snprintf(name, sizeof(name), "task/%d/children", PostmasterPid);
	children = IsUnderPostmaster ? open_proc(PostmasterPid, name) : NULL;
	if (children == NULL)
		return plh_server_processes_list();
	pids = list_make1_int(PostmasterPid);
	while (fscanf(children, "%d", &pid) == 1)
		pids = lappend_int(pids, pid);
	FreeFile(children);
	return pids;
}
