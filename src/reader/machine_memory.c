/*
 * machine_memory.c
 *	  How much memory the processes of this server may have, and who uses how much of it.
 *
 * The machine's own comes from /proc/meminfo.  A control group of this process, or one that
 * contains it, may have a limit that is lower: the kernel kills processes of the group when it is
 * reached, whatever the machine still has.  All processes of a server are in one group, so that of
 * this session tells.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/limits.h"
#include "reader/machine_memory.h"
#include "storage/fd.h"

/* Room for a line of the files that are read. */
#define LINE_BYTES 256

/* The figures of a group are read again when its use has changed by this part meanwhile. */
#define CHANGED_PART 64
#define MOST_READINGS 3

/* The files of one version of control groups. */
typedef struct GroupFiles
{
	const char *mark;			/* of its line in /proc/self/cgroup */
	const char *mount;			/* where it is mounted, by systemd's custom */
	const char *root_mark;		/* a file of the group that is the machine */
	const char *limit;
	const char *slow;			/* file of the limit beyond which it is slow */
	const char *usage;
	const char *kernel;			/* file of the kernel's part, or NULL */
	const char *reclaimable;	/* key in memory.stat: cache that goes first */
	const char *anon;			/* and those of parts; "file" has shared
								 * memory */
	const char *shmem;
	const char *file;
} GroupFiles;

static const GroupFiles versions[] = {
	{"0::", "/sys/fs/cgroup", "", "memory.max", "memory.high", "memory.current", NULL,
	"inactive_file", "anon", "shmem", "file"},
	{":memory:", "/sys/fs/cgroup/memory", "release_agent", "memory.limit_in_bytes", "",
		"memory.usage_in_bytes", "memory.kmem.usage_in_bytes", "total_inactive_file",
	"total_rss", "total_shmem", "total_cache"}
};

/* What the kernel has for itself: of a group of the second version, and of the machine. */
static const char *const group_kernel[] = {"kernel_stack", "pagetables", "percpu", "slab", "sock"};
static const char *const machine_kernel[] = {"KernelStack", "PageTables", "Percpu", "Slab"};

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

static void
group_path(char *path, const GroupFiles *files, const char *group, const char *name)
{
	snprintf(path, PLH_PATH_MAX, "%s%s/%s", files->mount, group, name);
}

static int64
group_number(const GroupFiles *files, const char *group, const char *name, const char *key)
{
	char		path[PLH_PATH_MAX];

	group_path(path, files, group, name);
	return number_in(path, key);
}

/* Where there is no limit, it is "max", or more than any machine has: then 0. */
static int64
limit_of(const GroupFiles *files, const char *group, const char *name, int64 machine_bytes)
{
	int64		limit = name[0] == '\0' ? 0 : group_number(files, group, name, "");

	return limit < machine_bytes ? limit : 0;
}

static int64
machine_number(const char *key)
{
	return number_in("/proc/meminfo", key) * 1024;
}

/* Act on a group of this process. */
typedef void (*GroupVisitor) (const GroupFiles *files, const char *group, void *arg);

/* From a group on outwards.  In a container, what is mounted may be the group itself. */
static void
visit_outwards(const GroupFiles *files, char *group, GroupVisitor visit, void *arg)
{
	char	   *slash;

	group[strcspn(group, "\n")] = '\0';
	while ((slash = strrchr(group, '/')) != NULL)
	{
		if (slash[1] != '\0')
			visit(files, group, arg);
		*slash = '\0';
	}
	visit(files, "", arg);
}

/* All groups of this process, of either version. */
static void
visit_groups(GroupVisitor visit, void *arg)
{
	char		line[PLH_PATH_MAX];
	FILE	   *groups = AllocateFile("/proc/self/cgroup", "r");

	while (groups != NULL && fgets(line, sizeof(line), groups) != NULL)
	{
		for (int i = 0; i < lengthof(versions); i++)
		{
			char	   *mark = strstr(line, versions[i].mark);

			if (mark == NULL)
				continue;
			visit_outwards(&versions[i], mark + strlen(versions[i].mark), visit, arg);
			break;
		}
	}
	if (groups != NULL)
		FreeFile(groups);
}

/* GroupVisitor: take the limit of a group into account. */
static void
apply_limit(const GroupFiles *files, const char *group, void *arg)
{
	PlhMachineMemory *memory = arg;
	int64		limit = limit_of(files, group, files->limit, memory->total_bytes);
	int64		used;

	if (limit <= 0)
		return;
	used = group_number(files, group, files->usage, "") -
		group_number(files, group, "memory.stat", files->reclaimable);
	memory->total_bytes = limit;
	memory->available_bytes = Min(memory->available_bytes, Max(limit - used, 0));
}

bool
plh_machine_memory_read(PlhMachineMemory *memory)
{
	memory->total_bytes = machine_number("MemTotal");
	memory->available_bytes = machine_number("MemAvailable");
	if (memory->total_bytes <= 0)
		return false;
	visit_groups(apply_limit, memory);
	return true;
}

static int64
stat_number(const GroupFiles *files, const char *group, const char *key)
{
	return group_number(files, group, "memory.stat", key);
}

/* Kernels before 5.18 have no sum of it. */
static int64
kernel_of_group(const GroupFiles *files, const char *group)
{
	int64		sum = stat_number(files, group, "kernel");

	if (files->kernel != NULL)
		return group_number(files, group, files->kernel, "");
	if (sum > 0)
		return sum + stat_number(files, group, "sock");
	for (int i = 0; i < lengthof(group_kernel); i++)
		sum += stat_number(files, group, group_kernel[i]);
	return sum;
}

/* Huge pages are counted for groups where they are mounted with that option. */
static bool
groups_have_huge_pages(void)
{
	char		line[PLH_PATH_MAX];
	bool		found = false;
	FILE	   *mounts = AllocateFile("/proc/self/mounts", "r");

	while (mounts != NULL && !found && fgets(line, sizeof(line), mounts) != NULL)
		found = strstr(line, "memory_hugetlb_accounting") != NULL;
	if (mounts != NULL)
		FreeFile(mounts);
	return found;
}

/* Read what a group uses, as far as possible at one moment. */
static void
read_group(PlhMemoryUse *use, const GroupFiles *files, const char *group)
{
	for (int reading = 0; reading < MOST_READINGS; reading++)
	{
		int64		before = group_number(files, group, files->usage, "");

		use->private_bytes = stat_number(files, group, files->anon);
		use->shared_bytes = stat_number(files, group, files->shmem);
		use->file_bytes = stat_number(files, group, files->file) - use->shared_bytes;
		use->kernel_bytes = kernel_of_group(files, group);
		use->huge_bytes = stat_number(files, group, "hugetlb");
		use->used_bytes = group_number(files, group, files->usage, "");
		use->changed_bytes = labs(use->used_bytes - before);
		if (use->changed_bytes <= use->used_bytes / CHANGED_PART)
			break;
	}
	use->has_huge = use->huge_bytes > 0 || groups_have_huge_pages();
}

/* Is that group the machine, which no group counts for? */
static bool
is_machine(const GroupFiles *files, const char *group)
{
	char		path[PLH_PATH_MAX];

	group_path(path, files, group, files->root_mark);
	return files->root_mark[0] != '\0' && access(path, F_OK) == 0;
}

/*
 * GroupVisitor: the innermost group that counts memory is the server's; of those around it only
 * limits matter.
 */
static void
use_group(const GroupFiles *files, const char *group, void *arg)
{
	PlhMemoryUse *use = arg;
	int64		machine_bytes = machine_number("MemTotal");
	int64		limit = limit_of(files, group, files->limit, machine_bytes);

	if (group_number(files, group, files->usage, "") <= 0 || is_machine(files, group))
		return;
	if (!use->of_group)
	{
		use->of_group = true;
		read_group(use, files, group);
		use->limit_bytes = limit;
		use->slow_bytes = limit_of(files, group, files->slow, machine_bytes);
	}
	else if (limit > 0 && (use->outer_limit_bytes == 0 || limit < use->outer_limit_bytes))
		use->outer_limit_bytes = limit;
}

static void
read_machine(PlhMemoryUse *use)
{
	int64		before = machine_number("MemFree");

	use->private_bytes = machine_number("AnonPages");
	use->shared_bytes = machine_number("Shmem");
	use->file_bytes = machine_number("Cached") + machine_number("Buffers") - use->shared_bytes;
	for (int i = 0; i < lengthof(machine_kernel); i++)
		use->kernel_bytes += machine_number(machine_kernel[i]);
	use->huge_bytes = machine_number("Hugetlb");
	use->has_huge = true;
	use->used_bytes = machine_number("MemTotal") - machine_number("MemFree");
	use->changed_bytes = labs(machine_number("MemFree") - before);
	use->limit_bytes = machine_number("MemTotal");
}

bool
plh_machine_memory_use(PlhMemoryUse *use)
{
	memset(use, 0, sizeof(*use));
	visit_groups(use_group, use);
	if (!use->of_group)
		read_machine(use);
	return use->used_bytes > 0;
}

int64
plh_machine_memory_to_promise(void)
{
	if (number_in("/proc/sys/vm/overcommit_memory", "") != 2)
		return PG_INT64_MAX;
	return Max(machine_number("CommitLimit") - machine_number("Committed_AS"), 0);
}
