/*
 * server_memory.c
 *	  What all processes of this server take outside of their private memory.
 *
 * Shared memory exists once, whoever has touched it: of the main segment mincore tells which pages
 * there are, of files in /dev/shm the file system does.  Which of those files are this server's
 * is known by who has mapped them, as another server of the same user has some, too.
 */
#include "postgres.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/guc.h"

#include "base/limits.h"
#include "base/process_facts.h"
#include "reader/server_memory.h"
#include "reader/server_processes.h"

#define SHM_DIRECTORY "/dev/shm"
#define SEGMENT_PREFIX "PostgreSQL."

/* Room for the names of a process' control groups. */
#define GROUPS_BYTES 2048

/* What st_blocks counts. */
#define STAT_BLOCK_BYTES 512

/*
 * mincore is asked of runs of so many pages.  It takes some 15 ms for a gigabyte: of a segment that
 * has more than so many runs, some are asked of, at equal distances.
 */
#define RUN_PAGES 1024
#define MOST_RUNS 4096

/* The part of the address space that a mapping takes. */
typedef struct Span
{
	char	   *begin;
	char	   *end;
} Span;

/* Find the mapping of this process that has an address, and whether it is of huge pages. */
static bool
find_mapping(Span *span, bool *is_huge, const char *address)
{
	char		line[PLH_PATH_MAX];
	bool		found = false;
	FILE	   *maps = AllocateFile("/proc/self/maps", "r");

	while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long begin;
		unsigned long end;

		if (sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		*span = (Span)
		{
			(char *) begin, (char *) end
		};
		*is_huge = strstr(line, "/anon_hugepage") != NULL;
		found = address >= span->begin && address < span->end;
	}
	if (maps != NULL)
		FreeFile(maps);
	return found;
}

/* How many of some pages there are, in memory or in its swap cache; -1: not known. */
static int
pages_there(char *begin, int pages, Size page)
{
	unsigned char there[RUN_PAGES];
	int			count = 0;

	if (mincore(begin, pages * page, there) != 0)
		return -1;
	for (int i = 0; i < pages; i++)
		count += there[i] & 1;
	return count;
}

/* How much of a span takes memory; -1: not known. */
static int64
resident_bytes(Span span)
{
	Size		page = sysconf(_SC_PAGESIZE);
	char	   *begin = (char *) TYPEALIGN_DOWN(page, span.begin);
	int64		pages = (span.end - begin + page - 1) / page;
	int64		runs = (pages + RUN_PAGES - 1) / RUN_PAGES;
	int64		step = (runs + MOST_RUNS - 1) / MOST_RUNS;
	int64		asked = 0;
	int64		there = 0;

	for (int64 run = 0; run < runs; run += step)
	{
		int			wanted = Min(RUN_PAGES, pages - run * RUN_PAGES);
		int			found = pages_there(begin + run * RUN_PAGES * page, wanted, page);

		if (found < 0)
			return -1;
		asked += wanted;
		there += found;
	}
	return asked == 0 ? 0 : (int64) ((double) there / asked * pages) * page;
}

/* The main segment: buffers, and all else in it.  Huge pages are all taken from the start. */
static void
read_main_segment(PlhServerMemory *memory)
{
	Span		all;
	Span		buffers = {BufferBlocks, BufferBlocks + (Size) NBuffers * BLCKSZ};
	int64		all_bytes = -1;

	memory->buffers_size = buffers.end - buffers.begin;
	memory->buffer_bytes = -1;
	memory->huge_pages_needed = atoi(GetConfigOption("shared_memory_size_in_huge_pages", false,
													 false));
	if (BufferBlocks == NULL || !find_mapping(&all, &memory->is_huge, BufferBlocks))
		return;
	if (memory->is_huge)
	{
		all_bytes = all.end - all.begin;
		memory->buffer_bytes = memory->buffers_size;
	}
	else
	{
		memory->buffer_bytes = resident_bytes(buffers);
		if (memory->buffer_bytes >= 0)
			all_bytes = resident_bytes(all);
	}
	memory->main_bytes = Max(0, all_bytes - memory->buffer_bytes);
}

/* A file in /dev/shm that may be a segment of this server. */
typedef struct Segment
{
	ino_t		inode;
	int64		bytes;
	bool		is_ours;
} Segment;

#define MOST_SEGMENTS 1024

/* The files in /dev/shm of this user's servers.  Returns their number. */
static int
find_segments(Segment *segments)
{
	DIR		   *dir = AllocateDir(SHM_DIRECTORY);
	struct dirent *entry;
	int			count = 0;

	/* LOG, not ERROR: without it there are no such segments */
	while ((entry = ReadDirExtended(dir, SHM_DIRECTORY, LOG)) != NULL && count < MOST_SEGMENTS)
	{
		char		path[PLH_PATH_MAX];
		struct stat status;

		if (strncmp(entry->d_name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", SHM_DIRECTORY, entry->d_name);
		if (stat(path, &status) == 0 && status.st_uid == geteuid())
			segments[count++] = (Segment)
		{
			status.st_ino, (int64) status.st_blocks * STAT_BLOCK_BYTES, false
		};
	}
	if (dir != NULL)
		FreeDir(dir);
	return count;
}

/* Note which of them a process has mapped.  Returns how many are new. */
static int
claim_segments(int pid, Segment *segments, int count)
{
	char		line[PLH_PATH_MAX];
	int			claimed = 0;
	FILE	   *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	maps = AllocateFile(line, "r");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long inode;

		if (strstr(line, SHM_DIRECTORY "/" SEGMENT_PREFIX) == NULL ||
			sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
			continue;
		for (int i = 0; i < count; i++)
			if (segments[i].inode == inode && !segments[i].is_ours)
			{
				segments[i].is_ours = true;
				claimed++;
			}
	}
	if (maps != NULL)
		FreeFile(maps);
	return claimed;
}

/* Add up the segments that processes of the server have mapped. */
static void
read_dynamic_segments(PlhServerMemory *memory, const List *pids)
{
	Segment    *segments = palloc(sizeof(Segment) * MOST_SEGMENTS);
	int			count = find_segments(segments);
	int			left = count;
	ListCell   *cell;

	foreach(cell, pids)
	{
		if (left == 0)
			break;
		CHECK_FOR_INTERRUPTS();
		left -= claim_segments(lfirst_int(cell), segments, count);
	}
	for (int i = 0; i < count; i++)
	{
		if (!segments[i].is_ours)
			continue;
		memory->dynamic_segments++;
		memory->dynamic_bytes += segments[i].bytes;
	}
	pfree(segments);
}

/* What the files of a directory take, if it is one in memory. */
static int64
bytes_in_memory(const char *directory)
{
	DIR		   *dir;
	struct dirent *entry;
	struct statfs file_system;
	int64		bytes = 0;

	if (statfs(directory, &file_system) != 0 || file_system.f_type != TMPFS_MAGIC)
		return 0;
	dir = AllocateDir(directory);
	while ((entry = ReadDirExtended(dir, directory, LOG)) != NULL)
	{
		char		path[PLH_PATH_MAX];
		struct stat status;

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
			bytes += (int64) status.st_blocks * STAT_BLOCK_BYTES;
	}
	if (dir != NULL)
		FreeDir(dir);
	return bytes;
}

void
plh_server_memory_shm_room(int64 *size, int64 *used)
{
	struct statfs room;

	*size = *used = 0;
	if (statfs(SHM_DIRECTORY, &room) != 0 || room.f_type != TMPFS_MAGIC)
		return;
	*size = (int64) room.f_blocks * room.f_bsize;
	*used = (int64) (room.f_blocks - room.f_bfree) * room.f_bsize;
}

/* Is a process in the same control groups as this one, or gone? */
static bool
is_in_own_groups(int pid, const char *own_groups)
{
	char		path[64];
	char		groups[GROUPS_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	return !plh_process_facts_read(path, groups, sizeof(groups)) ||
		strcmp(groups, own_groups) == 0;
}

/* Add up what processes have. */
static void
read_processes(PlhServerMemory *memory, const List *pids)
{
	char		own_groups[GROUPS_BYTES] = "";
	ListCell   *cell;

	memory->in_one_group = plh_process_facts_read("/proc/self/cgroup", own_groups,
												  sizeof(own_groups));
	foreach(cell, pids)
	{
		PlhProcessMemory process;

		plh_server_processes_memory(lfirst_int(cell), &process);
		memory->private_bytes += process.private_bytes;
		memory->touched_bytes += process.shared_bytes;
		memory->page_table_bytes += process.page_table_bytes;
		memory->swapped_bytes += process.swapped_bytes;
		memory->in_one_group = memory->in_one_group &&
			is_in_own_groups(lfirst_int(cell), own_groups);
	}
}

void
plh_server_memory_read(PlhServerMemory *memory, const char *directory)
{
	List	   *pids = plh_server_processes_list();

	memset(memory, 0, sizeof(*memory));
	read_main_segment(memory);
	read_dynamic_segments(memory, pids);
	if (directory != NULL)
		memory->profile_bytes = bytes_in_memory(directory);
	plh_server_memory_shm_room(&memory->shm_size, &memory->shm_used);

	/* what changes fastest stands close together */
	read_processes(memory, pids);
	memory->has_use = plh_machine_memory_use(&memory->use);
}
