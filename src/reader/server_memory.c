/*
 * server_memory.c
 *	  What all processes of this server take outside of their private memory.
 *
 * Shared memory exists once, whoever has touched it: of the main segment mincore tells which pages
 * there are, of files in /dev/shm the file system does.
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
#include "reader/server_memory.h"
#include "reader/server_processes.h"

/* What st_blocks counts. */
#define STAT_BLOCK_BYTES 512

/*
 * mincore is asked of runs of so many pages.  It takes some 15 ms for a gigabyte: of a segment that
 * has more than so many runs, some are asked of, at equal distances.
 */
#define RUN_PAGES 1024
#define MOST_RUNS 4096

/*
 * The kernel goes through all pages of a process to tell what it shares with others; some 10 ms for
 * a gigabyte.  Of one that has more than this, the little that it shares with its parent is not
 * looked for.
 */
#define MOST_WALKED_BYTES ((int64) 1024 * 1024 * 1024)

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

int64
plh_server_memory_of_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) ?
		(int64) status.st_blocks * STAT_BLOCK_BYTES : 0;
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

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		bytes += plh_server_memory_of_file(path);
	}
	if (dir != NULL)
		FreeDir(dir);
	return bytes;
}

/* What dynamic segments take together. */
static void
read_dynamic_segments(PlhServerMemory *memory, const List *pids)
{
	plh_shared_segments_read(&memory->segments, pids);
	memory->dynamic_segments = memory->segments.count;
	for (int i = 0; i < memory->segments.count; i++)
		memory->dynamic_bytes += memory->segments.segments[i].bytes;
}

/* What a process has, and has alone. */
static void
read_process(PlhServerProcess *process, int pid)
{
	PlhProcessMemory *memory = &process->memory;

	process->pid = pid;
	plh_server_processes_memory(pid, memory);
	process->share_bytes = memory->private_bytes + memory->shared_bytes > MOST_WALKED_BYTES ? -1 :
		plh_server_processes_share(pid);
	if (process->share_bytes < 0)
		process->share_bytes = memory->private_bytes;
}

/* Add up what processes have. */
static void
read_processes(PlhServerMemory *memory, const List *pids)
{
	ListCell   *cell;

	memory->processes = palloc(sizeof(PlhServerProcess) * list_length(pids));
	foreach(cell, pids)
	{
		PlhServerProcess *process = &memory->processes[memory->process_count++];

		CHECK_FOR_INTERRUPTS();
		read_process(process, lfirst_int(cell));
		memory->private_bytes += process->memory.private_bytes;
		memory->share_bytes += process->share_bytes;
		memory->touched_bytes += process->memory.shared_bytes;
		memory->page_table_bytes += process->memory.page_table_bytes;
		memory->swapped_bytes += process->memory.swapped_bytes;
	}
}

void
plh_server_memory_read(PlhServerMemory *memory, const char *directory, const char *group)
{
	List	   *pids = plh_server_processes_list();

	memset(memory, 0, sizeof(*memory));
	read_main_segment(memory);
	read_dynamic_segments(memory, pids);
	if (directory != NULL)
		memory->profile_bytes = bytes_in_memory(directory);
	plh_shared_segments_room(&memory->shm_size, &memory->shm_used);

	/* what changes fastest stands close together */
	read_processes(memory, pids);
	memory->has_use = group == NULL ? plh_machine_memory_use(&memory->use) :
		plh_machine_memory_use_of(&memory->use, group);
	memory->machine_bytes = plh_machine_memory_bytes();
	plh_machine_memory_promises(&memory->promises);
}
