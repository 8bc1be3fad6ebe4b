/*
 * look_copy.c
 *	  A copy of the private memory of another process, as a source of words.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "heap/heap.h"
#include "look/look_copy.h"

#define MAX_SEGMENTS 262144
#define MAX_RUNS 131072
#define MAPS_BYTES ((Size) 16 * 1024 * 1024)

/* So much without content is a segment of its own, which is no root. */
#define GAP_BYTES (16 * 1024 * 1024)

/* What can't be read is left out in steps of this. */
#define STEP_BYTES 4096

/* What the kernel says of a page: in memory, or swapped out. */
#define PAGE_HAS_CONTENT (UINT64CONST(3) << 62)
#define PAGES_AT_ONCE 65536

/* The copy that is being made. */
typedef struct Making
{
	PlhLookCopy *copy;
	PlhMapping *mappings;
	uint32		count;
	const PlhLookRun *run;		/* that the last mapping is of */
	int			pages;			/* descriptor of what the kernel says of pages */
	uint64	   *content;		/* of PAGES_AT_ONCE pages */
	uintptr_t	page;			/* bytes of one */
} Making;

/* Read the list of mappings that count. */
static bool
read_mappings(Making *making)
{
	static char *text;
	static PlhMapping *list;
	char	   *rest;
	char		path[64];
	PlhMapping	mapping;

	if (text == NULL)
	{
		text = plh_heap_reserve(MAPS_BYTES);
		list = plh_heap_reserve(MAX_SEGMENTS * sizeof(PlhMapping));
	}
	if (text == NULL || list == NULL)
		return false;
	rest = text;
	snprintf(path, sizeof(path), "/proc/%d/maps", making->copy->pid);
	if (!plh_mappings_read(path, text, MAPS_BYTES))
		return false;
	making->mappings = list;
	making->count = 0;
	while (plh_mappings_next(&rest, &mapping) && making->count < MAX_SEGMENTS)
		if (plh_heap_memory_counts(&mapping))
			list[making->count++] = mapping;
	errno = ESRCH;
	return making->count > 0;
}

/* The run of an earlier look that is the same now; NULL: there is none. */
static PlhLookRun *
find_run(PlhLookCopy *copy, uintptr_t start, uintptr_t end)
{
	for (uint32 i = 0; i < copy->run_count; i++)
		if (copy->runs[i].start == start && copy->runs[i].end == end)
			return &copy->runs[i];
	return NULL;
}

/* Address space for a run, which takes memory where it is filled. */
static PlhLookRun *
add_run(PlhLookCopy *copy, uintptr_t start, uintptr_t end)
{
	char	   *bytes = mmap(NULL, end - start, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = ENOMEM;
	if (bytes == MAP_FAILED || copy->run_count == MAX_RUNS)
		return NULL;
	copy->runs[copy->run_count] = (PlhLookRun)
	{
		.start = start,.end = end,.bytes = bytes
	};
	return &copy->runs[copy->run_count++];
}

/* Mappings from that one on, as far as they lie side by side. */
static bool
enter_run(Making *making, uint32 first)
{
	uintptr_t	start = making->mappings[first].from;
	uintptr_t	end = making->mappings[first].to;
	PlhLookRun *run;

	for (uint32 i = first + 1; i < making->count && making->mappings[i].from == end; i++)
		end = making->mappings[i].to;
	run = find_run(making->copy, start, end);
	if (run == NULL)
		run = add_run(making->copy, start, end);
	making->run = run;
	if (run != NULL)
		run->is_used = true;
	return run != NULL;
}

/* The next look finds room that this one has filled. */
static void
warm_runs(PlhLookCopy *copy)
{
	copy->memory.count = 0;
	copy->copied_bytes = copy->unread_bytes = 0;
	for (uint32 i = 0; i < copy->run_count; i++)
	{
		copy->runs[i].is_warm = true;
		copy->runs[i].is_used = false;
	}
}

/* Give those back that are no more. */
static void
drop_runs(PlhLookCopy *copy)
{
	uint32		kept = 0;

	for (uint32 i = 0; i < copy->run_count; i++)
	{
		PlhLookRun *run = &copy->runs[i];

		if (run->is_used)
			copy->runs[kept++] = *run;
		else
			(void) munmap(run->bytes, run->end - run->start);
	}
	copy->run_count = kept;
}

static bool
add_segment(PlhLookCopy *copy, const PlhHeapSegment *segment)
{
	PlhHeapMemory *memory = &copy->memory;

	errno = ENOMEM;
	if (memory->count == memory->room)
		return false;
	memory->segments[memory->count++] = *segment;
	return true;
}

/* A path as this process can open it. */
static const char *
path_of(const PlhLookCopy *copy, const PlhMapping *mapping)
{
	return mapping->path[0] == '/' ? psprintf("%s%s", copy->root, mapping->path) :
		pstrdup(mapping->path);
}

/* Read part of the process' memory.  What can't be read stays zeros, and is counted. */
static bool
read_part(PlhLookCopy *copy, uintptr_t from, uintptr_t to, char *bytes, int64 *unread)
{
	while (from < to)
	{
		struct iovec here = {bytes, to - from};
		struct iovec there = {(void *) from, to - from};
		ssize_t		length = process_vm_readv(copy->pid, &here, 1, &there, 1, 0);

		if (length < 0 && errno != EFAULT)
			return false;
		if (length <= 0)
		{
			length = Min(STEP_BYTES - from % STEP_BYTES, to - from);
			*unread += length;
		}
		else
			copy->copied_bytes += length;
		from += length;
		bytes += length;
	}
	return true;
}

/* The segment that is being made of a mapping, and its part that has been looked at. */
typedef struct Part
{
	PlhHeapSegment segment;
	uintptr_t	gap;			/* where pages without content begin */
} Part;

/* End a segment where a long gap was, and make one of the gap. */
static bool
leave_gap(PlhLookCopy *copy, Part *part, uintptr_t gap_end)
{
	PlhHeapSegment gap = part->segment;
	uintptr_t	start = part->segment.start;

	gap.bytes += part->gap - start;
	gap.start = part->gap;
	gap.end = gap_end;
	gap.flags = 0;
	if (part->gap > start)
	{
		part->segment.end = part->gap;
		if (!add_segment(copy, &part->segment))
			return false;
	}
	part->segment.bytes += gap_end - start;
	part->segment.start = gap_end;
	return add_segment(copy, &gap);
}

/* Pages with content begin behind others, which may have had some at an earlier look. */
static bool
end_gap(Making *making, Part *part, uintptr_t at)
{
	if (at > part->gap && making->run->is_warm)
		(void) madvise(making->run->bytes + (part->gap - making->run->start), at - part->gap,
					   MADV_DONTNEED);
	return at - part->gap < GAP_BYTES || leave_gap(making->copy, part, at);
}

/* Copy the pages with content of those that the kernel has told of. */
static bool
copy_pages(Making *making, Part *part, uintptr_t from, uint32 count, char *bytes)
{
	PlhLookCopy *copy = making->copy;
	uintptr_t	page = making->page;

	for (uint32 i = 0; i < count;)
	{
		uint32		first = i;

		if (!(making->content[i++] & PAGE_HAS_CONTENT))
			continue;
		while (i < count && making->content[i] & PAGE_HAS_CONTENT)
			i++;
		if (!end_gap(making, part, from + first * page) ||
			!read_part(copy, from + first * page, from + i * page, bytes + first * page,
					   &copy->unread_bytes))
			return false;
		part->gap = from + i * page;
	}
	return true;
}

/* Copy a mapping of no file, but for pages that were never touched. */
static bool
copy_anonymous(Making *making, const PlhMapping *mapping, const PlhHeapSegment *segment)
{
	Part		part = {*segment, mapping->from};

	for (uintptr_t at = mapping->from; at < mapping->to;)
	{
		uint32		count = Min((mapping->to - at) / making->page, PAGES_AT_ONCE);
		Size		bytes = count * sizeof(uint64);

		if (plh_whole_io_read(making->pages, making->content, bytes,
							  at / making->page * sizeof(uint64)) != bytes)
			return false;
		if (!copy_pages(making, &part, at, count,
						(char *) segment->bytes + (at - mapping->from)))
			return false;
		at += count * making->page;
	}
	if (!end_gap(making, &part, mapping->to))
		return false;
	part.segment.end = mapping->to;
	return part.segment.start == mapping->to || add_segment(making->copy, &part.segment);
}

/* Make a segment of a mapping, and copy it now if it may be written to. */
static bool
copy_mapping(Making *making, const PlhMapping *mapping)
{
	PlhLookCopy *copy = making->copy;
	PlhHeapSegment segment = {
		mapping->from, mapping->to, making->run->bytes + (mapping->from - making->run->start),
		path_of(copy, mapping), mapping->file_offset, plh_heap_memory_flags(mapping)
	};

	if (!(segment.flags & PLH_HEAP_ROOT))
		return add_segment(copy, &segment);
	if (mapping->path[0] != '/')
		return copy_anonymous(making, mapping, &segment);
	return add_segment(copy, &segment) &&
		read_part(copy, mapping->from, mapping->to, (char *) segment.bytes,
				  &copy->unread_bytes);
}

/* Copy all that the process may write to. */
static bool
copy_roots(Making *making)
{
	making->run = NULL;
	if (!read_mappings(making))
		return false;
	for (uint32 i = 0; i < making->count; i++)
	{
		const PlhMapping *mapping = &making->mappings[i];

		if ((making->run == NULL || mapping->from >= making->run->end) && !enter_run(making, i))
			return false;
		if (!copy_mapping(making, mapping))
			return false;
	}
	return true;
}

/* Copy what the process only reads, as constants of binaries: names of contexts are there. */
static bool
copy_rest(PlhLookCopy *copy)
{
	int64		unread = 0;

	for (uint32 i = 0; i < copy->memory.count; i++)
	{
		const PlhHeapSegment *segment = &copy->memory.segments[i];

		if (segment->flags & PLH_HEAP_FILE && !(segment->flags & PLH_HEAP_ROOT) &&
			!read_part(copy, segment->start, segment->end, (char *) segment->bytes, &unread))
			return false;
	}
	return true;
}

/* Registers are a root. */
static bool
copy_registers(PlhLookCopy *copy, const PlhLookThreads *threads)
{
	char	   *room = plh_heap_reserve(threads->count * PLH_LOOK_REGISTER_BYTES);
	PlhHeapSegment segment = {
		.start = PLH_LOOK_REGISTERS_AT,.bytes = room,.path = "",.flags = PLH_HEAP_ROOT
	};
	Size		bytes;

	errno = ENOMEM;
	if (room == NULL)
		return false;
	bytes = plh_look_threads_registers(threads, room, &copy->registers);
	segment.end = PLH_LOOK_REGISTERS_AT + bytes;
	return bytes > 0 && add_segment(copy, &segment);
}

/* The process stands still meanwhile. */
static bool
copy_stopped(Making *making)
{
	PlhLookThreads threads;
	bool		is_copied;
	int			problem;

	if (!copy_roots(making))
		return false;
	warm_runs(making->copy);
	is_copied = plh_look_threads_stop(&threads, making->copy->pid) &&
		copy_registers(making->copy, &threads) && copy_roots(making);
	problem = errno;

	making->copy->threads = threads.count;
	making->copy->stopped_us = plh_look_threads_go(&threads);
	drop_runs(making->copy);
	errno = problem;
	return is_copied;
}

static int
open_pages(int pid)
{
	char		path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The path of the program, as the kernel lists it. */
static const char *
name_of_binary(const char *link)
{
	char	   *path = palloc(MAXPGPATH);
	ssize_t		length = readlink(link, path, MAXPGPATH - 1);

	path[Max(length, 0)] = '\0';
	return path;
}

static bool
is_same_file(const char *left, const char *right)
{
	struct stat first;
	struct stat second;

	return stat(left, &first) == 0 && stat(right, &second) == 0 &&
		first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/*
 * Where the process finds its files, if not where this one does: it may be in a container, or have
 * another root.  If its program was removed since, the mounts tell.
 */
static const char *
root_of(const PlhLookCopy *copy)
{
	const char *root = psprintf("/proc/%d/root", copy->pid);

	if (is_same_file(copy->binary, copy->binary_name))
		return "";
	if (is_same_file(copy->binary, psprintf("%s%s", root, copy->binary_name)))
		return root;
	return is_same_file(psprintf("/proc/%d/ns/mnt", copy->pid), "/proc/self/ns/mnt") ? "" : root;
}

bool
plh_look_copy_make(PlhLookCopy *copy, int pid, bool stops)
{
	Making		making = {.copy = copy,.pages = open_pages(pid),.page = getpagesize()};
	bool		is_copied;

	if (making.pages < 0)
		return false;
	*copy = (PlhLookCopy)
	{
		.pid = pid,.binary = psprintf("/proc/%d/exe", pid)
	};
	copy->binary_name = name_of_binary(copy->binary);
	copy->root = root_of(copy);
	making.content = plh_heap_reserve(PAGES_AT_ONCE * sizeof(uint64));
	copy->memory.segments = plh_heap_reserve(MAX_SEGMENTS * sizeof(PlhHeapSegment));
	copy->memory.room = MAX_SEGMENTS;
	copy->runs = plh_heap_reserve(MAX_RUNS * sizeof(PlhLookRun));
	errno = ENOMEM;
	is_copied = making.content != NULL && copy->runs != NULL && copy->memory.segments != NULL &&
		(stops ? copy_stopped(&making) : copy_roots(&making)) && copy_rest(copy);
	close(making.pages);
	return is_copied;
}

void
plh_look_copy_forget(PlhLookCopy *copy)
{
	for (uint32 i = 0; i < copy->run_count; i++)
		copy->runs[i].is_used = false;
	drop_runs(copy);
	copy->memory.count = 0;
}
