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
#include "reader/control_group.h"
#include "reader/machine_memory.h"
#include "storage/fd.h"

/* The figures of a group are read again when its use has changed by this part meanwhile. */
#define CHANGED_PART 64
#define MOST_READINGS 3

/* Room for memory.stat, and for a limit. */
#define STAT_BYTES 8192
#define LIMIT_BYTES 32

/* What the kernel has for itself: of a group of the second version, and of the machine. */
static const char *const group_kernel[] = {"kernel_stack", "pagetables", "percpu", "slab", "sock"};
static const char *const machine_kernel[] = {"KernelStack", "PageTables", "Percpu", "Slab"};

/* Where there is no limit, it is "max", or more than any machine has: then 0. */
static int64
limit_of(const PlhGroupFiles *files, const char *group, const char *name, int64 machine_bytes)
{
	int64		limit = name[0] == '\0' ? 0 : plh_control_group_number(files, group, name, "");

	return limit < machine_bytes ? limit : 0;
}

static int64
machine_number(const char *key)
{
	return plh_control_group_number_in("/proc/meminfo", key) * 1024;
}

/* PlhGroupVisitor: take the limit of a group into account. */
static void
apply_limit(const PlhGroupFiles *files, const char *group, void *arg)
{
	PlhMachineMemory *memory = arg;
	int64		limit = limit_of(files, group, files->limit, memory->total_bytes);
	int64		used;

	if (limit <= 0)
		return;
	used = plh_control_group_number(files, group, files->usage, "") -
		plh_control_group_number(files, group, "memory.stat", files->reclaimable);
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
	plh_control_group_visit(getpid(), apply_limit, memory);
	return true;
}

/* The kernel's part of a group, whose memory.stat is "stat".  Before 5.18 that has no sum of it. */
static int64
kernel_of_group(const PlhGroupFiles *files, const char *group, const char *stat)
{
	int64		sum = plh_control_group_number_of(stat, "kernel");

	if (files->kernel != NULL)
		return plh_control_group_number(files, group, files->kernel, "");
	if (sum > 0)
		return sum + plh_control_group_number_of(stat, "sock");
	for (int i = 0; i < lengthof(group_kernel); i++)
		sum += plh_control_group_number_of(stat, group_kernel[i]);
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

/* Read the parts of what a group uses from one reading of its memory.stat. */
static void
read_parts(PlhMemoryUse *use, const PlhGroupFiles *files, const char *group)
{
	char		stat[STAT_BYTES];

	plh_control_group_text(files, group, "memory.stat", stat, sizeof(stat));
	use->private_bytes = plh_control_group_number_of(stat, files->anon);
	use->shared_bytes = plh_control_group_number_of(stat, files->shmem);
	use->file_bytes = plh_control_group_number_of(stat, files->file) - use->shared_bytes;
	use->idle_file_bytes = Min(use->file_bytes,
							   plh_control_group_number_of(stat, files->reclaimable));
	use->kernel_bytes = kernel_of_group(files, group, stat);
	use->page_table_bytes = plh_control_group_number_of(stat, "pagetables");
	use->slab_bytes = plh_control_group_number_of(stat, files->slab);
	use->huge_bytes = plh_control_group_number_of(stat, "hugetlb");
}

/* The same, and the whole, as far as possible at one moment. */
static void
read_group(PlhMemoryUse *use, const PlhGroupFiles *files, const char *group)
{
	for (int reading = 0; reading < MOST_READINGS; reading++)
	{
		int64		before = plh_control_group_number(files, group, files->usage, "");

		read_parts(use, files, group);
		use->used_bytes = plh_control_group_number(files, group, files->usage, "");
		use->changed_bytes = labs(use->used_bytes - before);
		if (use->changed_bytes <= use->used_bytes / CHANGED_PART)
			break;
	}
	use->has_huge = use->huge_bytes > 0 || groups_have_huge_pages();
}

/* What a group has in swap, and may have, once the rest of its figures is known. */
static void
read_swap(PlhMemoryUse *use, const PlhGroupFiles *files, const char *group)
{
	int64		machine_bytes = machine_number("SwapTotal");
	int64		memory_bytes = files->swap_has_memory ? use->limit_bytes : 0;
	char		limit[LIMIT_BYTES] = "";

	use->swap_bytes = machine_bytes;
	if (machine_bytes == 0)
		return;
	if (!plh_control_group_text(files, group, files->swap_limit, limit, sizeof(limit)))
	{
		use->swap_bytes = -1;
		return;
	}
	use->swapped_bytes = Max(0, plh_control_group_number(files, group, files->swap, "") -
							 (files->swap_has_memory ? use->used_bytes : 0));
	if (limit[0] >= '0' && limit[0] <= '9')
		use->swap_bytes = Max(0, Min(machine_bytes, strtoll(limit, NULL, 10) - memory_bytes));
}

/*
 * PlhGroupVisitor: the innermost group that counts memory is the server's; of those around it only
 * limits matter.
 */
static void
use_group(const PlhGroupFiles *files, const char *group, void *arg)
{
	PlhMemoryUse *use = arg;
	int64		machine_bytes = machine_number("MemTotal");
	int64		limit = limit_of(files, group, files->limit, machine_bytes);

	if (!plh_control_group_has(files, group, files->usage) ||
		plh_control_group_is_machine(files, group))
		return;
	if (!use->of_group)
	{
		use->of_group = true;
		read_group(use, files, group);
		use->limit_bytes = limit;
		use->slow_bytes = limit_of(files, group, files->slow, machine_bytes);
		read_swap(use, files, group);
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
	use->idle_file_bytes = Min(use->file_bytes, machine_number("Inactive(file)"));
	for (int i = 0; i < lengthof(machine_kernel); i++)
		use->kernel_bytes += machine_number(machine_kernel[i]);
	use->page_table_bytes = machine_number("PageTables");
	use->slab_bytes = machine_number("SReclaimable");
	use->huge_bytes = machine_number("Hugetlb");
	use->has_huge = true;
	use->used_bytes = machine_number("MemTotal") - machine_number("MemFree");
	use->changed_bytes = labs(machine_number("MemFree") - before);
	use->limit_bytes = machine_number("MemTotal");
	use->swap_bytes = machine_number("SwapTotal");
	use->swapped_bytes = use->swap_bytes - machine_number("SwapFree");
}

bool
plh_machine_memory_use(PlhMemoryUse *use)
{
	memset(use, 0, sizeof(*use));
	plh_control_group_visit(getpid(), use_group, use);
	if (!use->of_group)
		read_machine(use);
	return use->used_bytes > 0;
}

bool
plh_machine_memory_use_of(PlhMemoryUse *use, const char *group)
{
	memset(use, 0, sizeof(*use));
	return plh_control_group_visit_named(group, use_group, use) && use->of_group;
}

int64
plh_machine_memory_bytes(void)
{
	return machine_number("MemTotal");
}

void
plh_machine_memory_promises(PlhMemoryPromises *promises)
{
	promises->mode = plh_control_group_number_in("/proc/sys/vm/overcommit_memory", "");
	promises->promised_bytes = machine_number("Committed_AS");
	promises->limit_bytes = machine_number("CommitLimit");
}

int64
plh_machine_memory_to_promise(void)
{
	PlhMemoryPromises promises;

	plh_machine_memory_promises(&promises);
	if (promises.mode != PLH_PROMISES_WHAT_IT_HAS)
		return PG_INT64_MAX;
	return Max(promises.limit_bytes - promises.promised_bytes, 0);
}
