/*
 * memory_room.c
 *	  How much more memory each limit of this server's processes leaves.
 *
 * machine_memory.c tells who uses memory.  This tells what the kernel can't take back from them:
 * all that is in use, but for the pages of files, whether they are in use or not, and what it can
 * free of its own.  Files in a tmpfs, such as those of /dev/shm, are none of these.
 */
#include "postgres.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "reader/memory_room.h"

/* Room for a file of figures, and for the names of a process' groups. */
#define FIGURES_BYTES 8192
#define GROUPS_BYTES 2048

/* The files of one version of control groups, and the keys of memory.stat. */
typedef struct RoomFiles
{
	const char *mark;			/* of its line in /proc/PID/cgroup */
	const char *mount;
	const char *limit;
	const char *usage;
	const char *swap_limit;		/* of swap, or of memory and swap */
	const char *swap_usage;
	bool		swap_has_memory;
	const char *pressure;
	const char *cache[3];		/* what the kernel can take back */
	const char *anon;
	const char *shmem;
} RoomFiles;

static const RoomFiles versions[] = {
	{"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "memory.swap.max",
		"memory.swap.current", false, "memory.pressure",
	{"inactive_file", "active_file", "slab_reclaimable"}, "anon", "shmem"},
	{":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
		"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", true, "memory.pressure",
		{"total_inactive_file", "total_active_file", "total_slab_reclaimable"}, "total_rss",
	"total_shmem"}
};

/* The number behind a key at the start of a line, or for "" the first; 0 without one. */
static int64
number_of(const char *figures, const char *key)
{
	Size		length = strlen(key);

	for (const char *line = figures; line != NULL; line = strchr(line, '\n'))
	{
		line += line[0] == '\n';
		if (strncmp(line, key, length) == 0 &&
			(length == 0 || line[length] == ' ' || line[length] == ':'))
			return strtoll(line + length + (length > 0), NULL, 10);
	}
	return 0;
}

/* Read a file of a group.  Returns an empty text if there is none. */
static const char *
read_file(char *figures, const RoomFiles *files, const char *group, const char *name)
{
	char		path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", files->mount, group, name);
	if (!plh_process_facts_read(path, figures, FIGURES_BYTES))
		figures[0] = '\0';
	return figures;
}

/* A file of one number: "none" stands for a file that is missing, and for "max". */
static int64
file_number(const RoomFiles *files, const char *group, const char *name, int64 none)
{
	char		figures[FIGURES_BYTES];

	read_file(figures, files, group, name);
	return figures[0] < '0' || figures[0] > '9' ? none : number_of(figures, "");
}

/* The part of the last ten seconds in which some process waited for memory; -1: not known. */
static double
waiting_percent(const char *pressure)
{
	const char *average = strstr(pressure, "avg10=");

	return average == NULL ? -1 : strtod(average + strlen("avg10="), NULL);
}

/* How much of the machine's free swap a group may still take. */
static int64
swap_room(const RoomFiles *files, const char *group, int64 swap_free, int64 unused)
{
	int64		limit;

	if (swap_free <= 0)
		return 0;
	limit = file_number(files, group, files->swap_limit, PG_INT64_MAX);
	if (limit == PG_INT64_MAX)
		return swap_free;
	limit -= file_number(files, group, files->swap_usage, 0);
	return Max(0, Min(swap_free, files->swap_has_memory ? limit - unused : limit));
}

/* Append the room of a group, if it has a limit. */
static void
add_group(PlhMemoryRoom *rooms, int *count, const RoomFiles *files, const char *group,
		  int64 swap_free)
{
	char		figures[FIGURES_BYTES];
	int64		limit = file_number(files, group, files->limit, 0);
	int64		unused;
	PlhMemoryRoom *room = &rooms[*count];

	if (limit <= 0 || limit >= rooms[0].limit_bytes || *count == PLH_MEMORY_ROOMS)
		return;
	unused = limit - file_number(files, group, files->usage, 0);
	(*count)++;
	room->of_group = true;
	room->limit_bytes = limit;
	room->room_bytes = unused + swap_room(files, group, swap_free, unused);
	read_file(figures, files, group, "memory.stat");
	for (int i = 0; i < lengthof(files->cache); i++)
		room->room_bytes += number_of(figures, files->cache[i]);
	room->private_bytes = number_of(figures, files->anon);
	room->shared_bytes = number_of(figures, files->shmem);
	room->waiting_percent = waiting_percent(read_file(figures, files, group, files->pressure));
}

/* Those of a group and of all around it.  In a container, what is mounted may be the group. */
static void
add_outwards(PlhMemoryRoom *rooms, int *count, const RoomFiles *files, char *group,
			 int64 swap_free)
{
	char	   *slash;

	while ((slash = strrchr(group, '/')) != NULL)
	{
		if (slash[1] != '\0')
			add_group(rooms, count, files, group, swap_free);
		*slash = '\0';
	}
	add_group(rooms, count, files, "", swap_free);
}

static void
add_groups(PlhMemoryRoom *rooms, int *count, int pid, int64 swap_free)
{
	char		path[64];
	char		groups[GROUPS_BYTES];
	char	   *next = groups;
	char	   *line;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (!plh_process_facts_read(path, groups, sizeof(groups)))
		return;
	while ((line = strsep(&next, "\n")) != NULL)
		for (int i = 0; i < lengthof(versions); i++)
		{
			char	   *mark = strstr(line, versions[i].mark);

			if (mark != NULL)
				add_outwards(rooms, count, &versions[i], mark + strlen(versions[i].mark),
							 swap_free);
		}
}

int
plh_memory_room_read(int pid, PlhMemoryRoom *rooms)
{
	char		figures[FIGURES_BYTES];
	int			count = 1;
	int64		swap_free;

	memset(rooms, 0, sizeof(*rooms) * PLH_MEMORY_ROOMS);
	if (!plh_process_facts_read("/proc/meminfo", figures, sizeof(figures)))
		return 0;
	swap_free = number_of(figures, "SwapFree") * 1024;
	rooms[0].limit_bytes = number_of(figures, "MemTotal") * 1024;
	rooms[0].room_bytes = number_of(figures, "MemAvailable") * 1024 + swap_free;
	rooms[0].private_bytes = number_of(figures, "AnonPages") * 1024;
	rooms[0].shared_bytes = number_of(figures, "Shmem") * 1024;
	if (!plh_process_facts_read("/proc/pressure/memory", figures, sizeof(figures)))
		figures[0] = '\0';
	rooms[0].waiting_percent = waiting_percent(figures);
	add_groups(rooms, &count, pid, swap_free);
	return count;
}
