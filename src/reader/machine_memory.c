/*
 * machine_memory.c
 *	  How much memory the processes of this server may have.
 *
 * The machine's own comes from /proc/meminfo.  A control group of this process, or one that
 * contains it, may have a limit that is lower: the kernel kills processes of the group when it is
 * reached, whatever the machine still has.  All processes of a server are in one group, so that of
 * this session tells.
 */
#include "postgres.h"

#include "base/limits.h"
#include "reader/machine_memory.h"
#include "storage/fd.h"

/* Room for a line of the files that are read. */
#define LINE_BYTES 256

/* The files of one version of control groups. */
typedef struct GroupFiles
{
	const char *mark;			/* of its line in /proc/self/cgroup */
	const char *mount;			/* where it is mounted, by systemd's custom */
	const char *limit;
	const char *usage;
	const char *reclaimable;	/* key in memory.stat: cache that goes first */
} GroupFiles;

static const GroupFiles versions[] = {
	{"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
	{":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
	"memory.usage_in_bytes", "total_inactive_file"}
};

/* The number behind a key at the start of a line, or, for "", the first of the file; else 0. */
static int64
number_in(const char *path, const char *key)
{
	Size		length = strlen(key);
	char		line[LINE_BYTES];
	int64		number = 0;
	FILE	   *file = AllocateFile(path, "r");

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, key, length) != 0 ||
			(length > 0 && line[length] != ' ' && line[length] != ':'))
			continue;
		number = strtoll(line + length + (length > 0), NULL, 10);
		break;
	}
	FreeFile(file);
	return number;
}

static int64
group_number(const GroupFiles *files, const char *group, const char *name, const char *key)
{
	char		path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", files->mount, group, name);
	return number_in(path, key);
}

static void
apply_limit(PlhMachineMemory *memory, const GroupFiles *files, const char *group)
{
	int64		limit = group_number(files, group, files->limit, "");
	int64		used;

	/* where there is no limit, it is "max", or more than any machine has */
	if (limit <= 0 || limit >= memory->total_bytes)
		return;
	used = group_number(files, group, files->usage, "") -
		group_number(files, group, "memory.stat", files->reclaimable);
	memory->total_bytes = limit;
	memory->available_bytes = Min(memory->available_bytes, Max(limit - used, 0));
}

/* Take the limits of a group, and of those that contain it, into account. */
static void
apply_limits(PlhMachineMemory *memory, const GroupFiles *files, char *group)
{
	char	   *slash;

	group[strcspn(group, "\n")] = '\0';
	while ((slash = strrchr(group, '/')) != NULL)
	{
		apply_limit(memory, files, group);
		*slash = '\0';
	}

	/* in a container, what is mounted may be the group itself */
	apply_limit(memory, files, "");
}

bool
plh_machine_memory_read(PlhMachineMemory *memory)
{
	char		line[PLH_PATH_MAX];
	FILE	   *groups;

	memory->total_bytes = number_in("/proc/meminfo", "MemTotal") * 1024;
	memory->available_bytes = number_in("/proc/meminfo", "MemAvailable") * 1024;
	if (memory->total_bytes <= 0)
		return false;
	groups = AllocateFile("/proc/self/cgroup", "r");
	while (groups != NULL && fgets(line, sizeof(line), groups) != NULL)
	{
		for (int i = 0; i < lengthof(versions); i++)
		{
			char	   *mark = strstr(line, versions[i].mark);

			if (mark != NULL)
			{
				apply_limits(memory, &versions[i], mark + strlen(versions[i].mark));
				break;
			}
		}
	}
	if (groups != NULL)
		FreeFile(groups);
	return true;
}
