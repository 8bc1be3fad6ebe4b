/*
 * session_room.c
 *	  How much memory this host has for sessions of clients, whatever they have now.
 *
 * It is what the kernel can still give, and what sessions have already, less what shared memory
 * will take once all of it was used.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "base/limits.h"
#include "reader/server_activity.h"
#include "reader/server_memory.h"
#include "reader/server_processes.h"
#include "reader/session_room.h"

#define MEGABYTE INT64CONST(1048576)

/* What a process takes of memory: its own, its page tables and its profile. */
static int64
process_bytes(const char *directory, int pid)
{
	PlhProcessMemory memory;
	char		path[PLH_PATH_MAX];

	plh_server_processes_memory(pid, &memory);
	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	return memory.private_bytes + memory.page_table_bytes + plh_server_memory_of_file(path);
}

/* Add up sessions of clients, with their parallel workers. */
static void
add_sessions(PlhSessionRoom *room, const char *directory)
{
	int			count = plh_server_activity_count();

	for (int i = 0; i < count; i++)
	{
		PlhServerActivity activity;

		if (!plh_server_activity_at(i, &activity) ||
			(activity.leader_pid == 0 && !activity.is_client))
			continue;
		room->sessions += activity.leader_pid == 0;
		room->sessions_bytes += process_bytes(directory, activity.pid);
	}
}

/* What the kernel can still give.  In a group it takes page cache back before it kills. */
static int64
available_bytes(const PlhMachineMemory *machine, const PlhServerMemory *memory)
{
	const PlhMemoryUse *use = &memory->use;

	if (!memory->has_use || !use->of_group || use->limit_bytes != machine->total_bytes)
		return machine->available_bytes;
	return Max(machine->available_bytes, use->limit_bytes - use->used_bytes + use->file_bytes);
}

/* What the main segment will take beyond what it has now. */
static int64
untouched_bytes(const PlhServerMemory *memory)
{
	int64		size = atoll(GetConfigOption("shared_memory_size", false, false)) * MEGABYTE;

	if (memory->is_huge || memory->buffer_bytes < 0)
		return 0;
	return Max(0, size - memory->buffer_bytes - memory->main_bytes);
}

void
plh_session_room_read(PlhSessionRoom *room, const char *directory)
{
	PlhServerMemory memory;
	PlhMachineMemory machine;

	memset(room, 0, sizeof(*room));
	plh_server_memory_read(&memory, directory, NULL);
	if (!plh_machine_memory_read(&machine))
		return;
	add_sessions(room, directory);
	room->limit_bytes = machine.total_bytes;
	room->room_bytes = Max(0, available_bytes(&machine, &memory) + room->sessions_bytes -
						   untouched_bytes(&memory));
	if (memory.process_count > 0)
		room->once_bytes = Max(0, memory.private_bytes - memory.share_bytes) /
			memory.process_count;
	room->room_bytes -= room->once_bytes * room->sessions;
	room->room_bytes = Max(0, room->room_bytes);
}
