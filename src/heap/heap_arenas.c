/*
 * heap_arenas.c
 *	  The arenas of glibc's malloc in a process, found without symbols.
 *
 * The layouts are those of glibc 2.26 to 2.43, which differ in what is before the bins only.
 */
#include "postgres.h"

#include "heap/heap_arenas.h"

/* An arena's bins, and what is behind them. */
#define BINS 127
#define BIN_BYTES 16
#define BIN_MAP_BYTES 16
#define NEXT (BINS * BIN_BYTES + BIN_MAP_BYTES)
#define SYSTEM_BYTES (NEXT + 24)
#define MOST_SYSTEM_BYTES (NEXT + 32)
#define BEHIND_BINS (NEXT + 40)

/*
 * What is before them: top and the last remainder, and before these fast bins, where there are
 * any.
 */
#define TOP_BEFORE_BINS 16
#define FAST_BINS_BEFORE_BINS (TOP_BEFORE_BINS + PLH_HEAP_FAST_BINS * 8)

/* From 2.27 on, in 2.26, and without fast bins. */
static const Size bins_offsets[] = {112, 104, 24, 32};

/* A bin's address is that of a chunk of which it would be the two links. */
#define LINKS 16

/*
 * What glibc counts of blocks that are mappings, relative to where the main arena's memory
 * begins.
 */
#define MAPPED_BYTES_BEFORE 16
#define MOST_MAPPED_BYTES_BEFORE 8
#define MAPPED_COUNT_BEFORE 32	/* up to 2.34 */
#define MAPPED_COUNT_BEFORE_35 36
#define COUNTS_BEFORE 40

#define PAGE 4096

static bool
read_word(PlhHeapMemory *memory, uintptr_t address, uint64 *word)
{
	const char *bytes = address % 8 != 0 ? NULL :
		plh_heap_memory_at(memory, address, sizeof(*word));

	if (bytes == NULL)
		return false;
	memcpy(word, bytes, sizeof(*word));
	return true;
}

static bool
is_word(PlhHeapMemory *memory, uintptr_t address, uint64 expected)
{
	uint64		word;

	return read_word(memory, address, &word) && word == expected;
}

/* A ring leads back to its bin from both sides. */
static bool
is_bin(PlhHeapMemory *memory, uintptr_t at)
{
	uintptr_t	bin = at - LINKS;
	uint64		first;
	uint64		last;

	return read_word(memory, at, &first) && read_word(memory, at + 8, &last) &&
		is_word(memory, first + LINKS + 8, bin) && is_word(memory, last + LINKS, bin);
}

static bool
is_empty_bin(const char *bytes, uintptr_t at)
{
	uint64		links[2];

	memcpy(links, bytes, sizeof(links));
	return links[0] == at - LINKS && links[1] == at - LINKS;
}

/* The bins that one of them belongs to; 0: these are none. */
static uintptr_t
bins_around(PlhHeapMemory *memory, uintptr_t at)
{
	uintptr_t	start = at;
	uintptr_t	end = at;
	uint32		count = 1;

	for (; count <= BINS && is_bin(memory, start - BIN_BYTES); count++)
		start -= BIN_BYTES;
	for (; count <= BINS && is_bin(memory, end + BIN_BYTES); count++)
		end += BIN_BYTES;
	return count == BINS ? start : 0;
}

static bool
is_of_libc(const PlhHeapSegment *segment)
{
	const char *slash = strrchr(segment->path, '/');

	return (segment->flags & (PLH_HEAP_FILE | PLH_HEAP_ROOT)) == (PLH_HEAP_FILE | PLH_HEAP_ROOT) &&
		slash != NULL &&
		(strncmp(slash, "/libc.so.", 9) == 0 || strncmp(slash, "/libc-2.", 8) == 0);
}

/* Read an arena whose bins are there. */
static bool
read_arena(PlhHeapMemory *memory, uintptr_t bins, PlhHeapArena *arena)
{
	uint64		most;
	uint64		bytes;
	uint64		top;

	if (!read_word(memory, bins + SYSTEM_BYTES, &bytes) ||
		!read_word(memory, bins + MOST_SYSTEM_BYTES, &most) ||
		!read_word(memory, bins - TOP_BEFORE_BINS, &top) ||
		bytes == 0 || bytes > most || top % 16 != 0)
		return false;
	arena->system_bytes = bytes;
	arena->top = top;
	return true;
}

/* All arenas of a ring, which leads back to the main one. */
static bool
read_ring(PlhHeapArenas *arenas, PlhHeapMemory *memory, uintptr_t main_address, Size before_bins)
{
	uint64		address = main_address;

	arenas->count = 0;
	do
	{
		PlhHeapArena *arena = &arenas->list[arenas->count];

		if (arenas->count++ == PLH_HEAP_ARENAS)
			return false;
		arena->address = address;
		if (!read_arena(memory, address + before_bins, arena) ||
			!read_word(memory, address + before_bins + NEXT, &address))
			return false;
	} while (address != main_address);
	return true;
}

/* The ring ends where it begins only if that is where the main arena begins. */
static bool
find_ring(PlhHeapArenas *arenas, PlhHeapMemory *memory, uintptr_t bins)
{
	for (int i = 0; i < lengthof(bins_offsets); i++)
		if (read_ring(arenas, memory, bins - bins_offsets[i], bins_offsets[i]))
		{
			arenas->arena_bytes = bins_offsets[i] + BEHIND_BINS;
			arenas->fast_bins = bins_offsets[i] < FAST_BINS_BEFORE_BINS ? 0 :
				bins_offsets[i] - FAST_BINS_BEFORE_BINS;
			return true;
		}
	return false;
}

/* Does a word among libc's variables tell where the main arena's memory begins? */
static bool
is_start(PlhHeapMemory *memory, const PlhHeapArena *arena, uint64 start)
{
	uint64		head;

	return start % PAGE == 0 && start < arena->top && read_word(memory, arena->top + 8, &head) &&
		start + arena->system_bytes == arena->top + (head & ~UINT64CONST(7));
}

static bool
read_counts(PlhHeapArenas *arenas, const char *bytes)
{
	uint64		most;

	memcpy(&most, bytes - MOST_MAPPED_BYTES_BEFORE, sizeof(most));
	memcpy(&arenas->mapped_bytes, bytes - MAPPED_BYTES_BEFORE, sizeof(uint64));
	memcpy(&arenas->mapped_counts[0], bytes - MAPPED_COUNT_BEFORE, sizeof(uint32));
	memcpy(&arenas->mapped_counts[1], bytes - MAPPED_COUNT_BEFORE_35, sizeof(uint32));
	return arenas->mapped_bytes <= most && arenas->mapped_bytes % PAGE == 0;
}

static bool
find_start(PlhHeapArenas *arenas, PlhHeapMemory *memory, const PlhHeapSegment *segment)
{
	Size		length = segment->end - segment->start;

	for (Size at = COUNTS_BEFORE; at + sizeof(uint64) <= length; at += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, segment->bytes + at, sizeof(word));
		if (is_start(memory, &arenas->list[0], word) && read_counts(arenas, segment->bytes + at))
		{
			arenas->main_start = word;
			arenas->counts = segment->start + at - COUNTS_BEFORE;
			arenas->counts_end = segment->start + at + sizeof(word);
			return true;
		}
	}
	return false;
}

static bool
find_bins(PlhHeapMemory *memory, const PlhHeapSegment *segment, uintptr_t *bins)
{
	Size		length = segment->end - segment->start;

	for (Size at = 0; at + BIN_BYTES <= length; at += sizeof(uint64))
		if (is_empty_bin(segment->bytes + at, segment->start + at))
		{
			*bins = bins_around(memory, segment->start + at);
			if (*bins != 0)
				return true;
		}
	return false;
}

bool
plh_heap_arenas_find(PlhHeapArenas *arenas, PlhHeapMemory *memory)
{
	memset(arenas, 0, sizeof(*arenas));
	for (uint32 i = 0; i < memory->count; i++)
	{
		const PlhHeapSegment *segment = &memory->segments[i];
		uintptr_t	bins;

		if (is_of_libc(segment) && find_bins(memory, segment, &bins))
			return find_ring(arenas, memory, bins) && find_start(arenas, memory, segment);
	}
	return false;
}
