/*
 * heap_memory.c
 *	  The memory of a process as a source of words.
 */
#include "postgres.h"

#include "base/mappings.h"
#include "heap/heap.h"
#include "heap/heap_memory.h"

/* A process has as many mappings as this at most, by the kernel's default. */
#define MAX_SEGMENTS 70000
#define MAPS_BYTES ((Size) 16 * 1024 * 1024)

static bool
begins_with(const char *path, const char *begin)
{
	return strncmp(path, begin, strlen(begin)) == 0;
}

/* Memory that has a path without a file of that name. */
static bool
is_anonymous(const PlhMapping *mapping)
{
	return mapping->path[0] != '/' || begins_with(mapping->path, "/memfd:") ||
		begins_with(mapping->path, "/dev/zero") || begins_with(mapping->path, "/SYSV") ||
		begins_with(mapping->path, "/anon_hugepage");
}

/*
 * What is shared is other processes', too, for which an address of this one means nothing.  But a
 * process may map memory of its own twice, as languages do with heaps and code.
 */
static bool
is_of_others(const PlhMapping *mapping)
{
	return mapping->is_shared && !begins_with(mapping->path, "/memfd:");
}

bool
plh_heap_memory_counts(const PlhMapping *mapping)
{
	return mapping->is_readable && !is_of_others(mapping) &&
		strcmp(mapping->path, "[vdso]") != 0 && !begins_with(mapping->path, "[vvar") &&
		strcmp(mapping->path, "[vsyscall]") != 0;
}

uint32
plh_heap_memory_flags(const PlhMapping *mapping)
{
	uint32		flags = 0;

	if (mapping->is_writable || is_anonymous(mapping))
		flags |= PLH_HEAP_ROOT;
	if (mapping->is_executable && is_anonymous(mapping))
		flags |= PLH_HEAP_CODE;
	if (mapping->is_executable)
		flags |= PLH_HEAP_RUNS;
	if (strcmp(mapping->path, "[stack]") == 0)
		flags |= PLH_HEAP_STACK;
	else if (mapping->path[0] == '/')
		flags |= PLH_HEAP_FILE;
	return flags;
}

/* What the search itself has noted holds nothing. */
static bool
exclude_own(PlhHeapMemory *memory)
{
	const		PlhHeapRegion *region;

	for (int i = 0; (region = plh_heap_region(i)) != NULL; i++)
		if (!plh_heap_memory_exclude(memory, region->from, region->to))
			return false;
	return true;
}

bool
plh_heap_memory_own(PlhHeapMemory *memory)
{
	char	   *text = plh_heap_reserve(MAPS_BYTES);
	PlhHeapSegment *segments = plh_heap_reserve(MAX_SEGMENTS * sizeof(PlhHeapSegment));
	char	   *rest = text;
	PlhMapping	mapping;

	if (text == NULL || segments == NULL ||
		!plh_mappings_read("/proc/self/maps", text, MAPS_BYTES))
		return false;
	*memory = (PlhHeapMemory)
	{
		.segments = segments,.room = MAX_SEGMENTS
	};
	while (plh_mappings_next(&rest, &mapping))
	{
		if (!plh_heap_memory_counts(&mapping))
			continue;
		if (memory->count == MAX_SEGMENTS)
			return false;
		segments[memory->count++] = (PlhHeapSegment)
		{
			mapping.from, mapping.to, (const char *) mapping.from, mapping.path,
				mapping.file_offset, plh_heap_memory_flags(&mapping)
		};
	}
	return exclude_own(memory);
}

/* Cut off what is before an address; the rest becomes the next segment. */
static bool
split_segment(PlhHeapMemory *memory, uint32 index, uintptr_t at)
{
	PlhHeapSegment *segment = &memory->segments[index];

	if (memory->count == memory->room)
		return false;
	memmove(segment + 1, segment, (memory->count - index) * sizeof(PlhHeapSegment));
	memory->count++;
	segment[0].end = at;
	segment[1].start = at;
	segment[1].bytes += at - segment[0].start;
	segment[1].file_offset += at - segment[0].start;
	return true;
}

bool
plh_heap_memory_exclude(PlhHeapMemory *memory, uintptr_t from, uintptr_t to)
{
	memory->last = 0;
	for (uint32 i = 0; i < memory->count;)
	{
		PlhHeapSegment *segment = &memory->segments[i];

		if (segment->end <= from || segment->start >= to)
			i++;
		else if (segment->start < from)
		{
			if (!split_segment(memory, i, from))
				return false;
			i++;
		}
		else if (segment->end > to)
		{
			if (!split_segment(memory, i, to))
				return false;
		}
		else
			memory->segments[i++].flags = 0;
	}
	return true;
}

static inline bool
has(const PlhHeapSegment *segment, uintptr_t address)
{
	return address >= segment->start && address < segment->end;
}

static const PlhHeapSegment *
find_segment(PlhHeapMemory *memory, uintptr_t address)
{
	uint32		low = 0;
	uint32		high = memory->count;

	if (memory->last < memory->count && has(&memory->segments[memory->last], address))
		return &memory->segments[memory->last];
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (memory->segments[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == memory->count || !has(&memory->segments[low], address))
		return NULL;
	memory->last = low;
	return &memory->segments[low];
}

bool
plh_heap_memory_ends_at(PlhHeapMemory *memory, uintptr_t address)
{
	const PlhHeapSegment *segment = find_segment(memory, address - 1);

	return segment != NULL && segment->end == address;
}

/* Segments of one kind may lie side by side, where the kernel lists them apart. */
static bool
goes_on(PlhHeapMemory *memory, const PlhHeapSegment *segment, uintptr_t end)
{
	for (const PlhHeapSegment *last = &memory->segments[memory->count - 1]; segment->end < end;
		 segment++)
		if (segment == last || segment[1].start != segment->end ||
			segment[1].bytes - segment->bytes != segment->end - segment->start)
			return false;
	return true;
}

const void *
plh_heap_memory_at(PlhHeapMemory *memory, uintptr_t address, Size bytes)
{
	const PlhHeapSegment *segment = find_segment(memory, address);

	if (segment == NULL || bytes > UINTPTR_MAX - address ||
		!goes_on(memory, segment, address + bytes))
		return NULL;
	return segment->bytes + (address - segment->start);
}

bool
plh_heap_memory_text(PlhHeapMemory *memory, uintptr_t address, char *text, Size room)
{
	const PlhHeapSegment *segment = find_segment(memory, address);
	Size		length;

	text[0] = '\0';
	if (segment == NULL)
		return false;
	length = strnlen(segment->bytes + (address - segment->start),
					 Min(room - 1, segment->end - address));
	memcpy(text, segment->bytes + (address - segment->start), length);
	text[length] = '\0';
	return true;
}

Size
plh_heap_memory_root_bytes(const PlhHeapMemory *memory)
{
	Size		bytes = 0;

	for (uint32 i = 0; i < memory->count; i++)
		if (memory->segments[i].flags & PLH_HEAP_ROOT)
			bytes += memory->segments[i].end - memory->segments[i].start;
	return bytes;
}
