/*
 * memory_room.c
 *	  How much more memory each limit of this server's processes leaves.
 *
 * machine_memory.c tells who uses memory.  This tells what the kernel can't take back from them:
 * all that is in use, but for the pages of files, whether they are in use or not, and what it can
 * free of its own.  Files in a tmpfs, such as those of /dev/shm, are none of these.
 */
#include "postgres.h"

#include "base/process_facts.h"
#include "reader/control_group.h"
#include "reader/memory_room.h"

/* Room for a file of figures, and for one of a limit. */
#define FIGURES_BYTES 8192
#define LIMIT_BYTES 32

/* The rooms so far. */
typedef struct Rooms
{
	PlhMemoryRoom *rooms;
	int			count;
	int64		swap_free;		/* of the machine */
} Rooms;

/* The part of the last ten seconds in which some process waited for memory; -1: not known. */
static double
waiting_percent(const char *pressure)
{
	const char *average = strstr(pressure, "avg10=");

	return average == NULL ? -1 : strtod(average + strlen("avg10="), NULL);
}

/* A group's limit of swap, or of memory and swap; false without one. */
static bool
read_swap_limit(const PlhGroupFiles *files, const char *group, int64 *limit)
{
	char		text[LIMIT_BYTES];

	if (!plh_control_group_text(files, group, files->swap_limit, text, sizeof(text)) ||
		text[0] < '0' || text[0] > '9')
		return false;
	*limit = plh_control_group_number_of(text, "");
	return true;
}

/* How much of the machine's free swap a group may still take. */
static int64
swap_room(const PlhGroupFiles *files, const char *group, int64 swap_free, int64 unused)
{
	int64		limit;

	if (swap_free <= 0)
		return 0;
	if (!read_swap_limit(files, group, &limit))
		return swap_free;
	limit -= plh_control_group_number(files, group, files->swap, "");
	return Max(0, Min(swap_free, files->swap_has_memory ? limit - unused : limit));
}

/* What memory.stat of a group says of it. */
static void
read_stat(PlhMemoryRoom *room, const PlhGroupFiles *files, const char *group)
{
	const char *const cache[] = {files->reclaimable, files->recent, files->slab};
	char		stat[FIGURES_BYTES];

	if (!plh_control_group_text(files, group, "memory.stat", stat, sizeof(stat)))
		return;
	for (int i = 0; i < lengthof(cache); i++)
		room->room_bytes += plh_control_group_number_of(stat, cache[i]);
	room->private_bytes = plh_control_group_number_of(stat, files->anon);
	room->shared_bytes = plh_control_group_number_of(stat, files->shmem);
}

/* PlhGroupVisitor: append the room of a group, if it has a limit. */
static void
add_group(const PlhGroupFiles *files, const char *group, void *arg)
{
	Rooms	   *found = arg;
	char		pressure[FIGURES_BYTES];
	int64		limit = plh_control_group_number(files, group, files->limit, "");
	int64		unused;
	PlhMemoryRoom *room = &found->rooms[found->count];

	if (limit <= 0 || limit >= found->rooms[0].limit_bytes || found->count == PLH_MEMORY_ROOMS)
		return;
	unused = limit - plh_control_group_number(files, group, files->usage, "");
	found->count++;
	room->of_group = true;
	room->limit_bytes = limit;
	room->room_bytes = unused + swap_room(files, group, found->swap_free, unused);
	read_stat(room, files, group);
	if (!plh_control_group_text(files, group, files->pressure, pressure, sizeof(pressure)))
		pressure[0] = '\0';
	room->waiting_percent = waiting_percent(pressure);
}

/* Of the machine; false if the kernel does not tell. */
static bool
add_machine(Rooms *found)
{
	PlhMemoryRoom *room = &found->rooms[found->count];
	char		figures[FIGURES_BYTES];

	if (!plh_process_facts_read("/proc/meminfo", figures, sizeof(figures)))
		return false;
	found->swap_free = plh_control_group_number_of(figures, "SwapFree") * 1024;
	room->limit_bytes = plh_control_group_number_of(figures, "MemTotal") * 1024;
	room->room_bytes = plh_control_group_number_of(figures, "MemAvailable") * 1024 +
		found->swap_free;
	room->private_bytes = plh_control_group_number_of(figures, "AnonPages") * 1024;
	room->shared_bytes = plh_control_group_number_of(figures, "Shmem") * 1024;
	if (!plh_process_facts_read("/proc/pressure/memory", figures, sizeof(figures)))
		figures[0] = '\0';
	room->waiting_percent = waiting_percent(figures);
	found->count++;
	return true;
}

int
plh_memory_room_read(int pid, PlhMemoryRoom *rooms)
{
	Rooms		found = {rooms};

	memset(rooms, 0, sizeof(*rooms) * PLH_MEMORY_ROOMS);
	if (add_machine(&found))
		plh_control_group_visit(pid, add_group, &found);
	return found.count;
}
