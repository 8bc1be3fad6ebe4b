/*
 * heap_malloc.c
 *	  The blocks of glibc's malloc, as chunks of the index.
 *
 * malloc's chunk begins with the size of the one before, if that is free, and its own size, whose
 * low bits are flags.  The block that it gives out begins behind these 16 bytes, and reaches 8
 * bytes into the next chunk.
 */
#include "postgres.h"

#include "heap/heap_arenas.h"
#include "heap/heap_fault.h"
#include "heap/heap_malloc.h"
#include "heap/heap_malloc_lists.h"
#include "heap/heap.h"

/* Of malloc's chunk. */
#define HEADER_BYTES 16
#define SHARED_BYTES 8			/* of the next chunk, which are the block's */
#define LEAST_BYTES 32
#define BEFORE_IS_USED 1
#define IS_MAPPED 2
#define IS_OF_THREADS 4			/* of an arena other than the main one */
#define FLAGS UINT64CONST(7)

/* Arenas of threads consist of heaps, each of which begins at a multiple of this. */
#define HEAP_ALIGNMENT ((uintptr_t) 64 * 1024 * 1024)

/* A heap begins with the address of its arena, the heap before it, and its size. */
#define HEAP_ARENA 0
#define HEAP_BEFORE 8
#define HEAP_BYTES 16

/* What that takes: from 2.35 on, and before. */
static const Size heap_header_bytes[] = {48, 32};

#define PAGE ((uintptr_t) 4096)
#define MAX_REGIONS 8192

/* A part of memory in which chunks lie one behind the other. */
typedef struct Region
{
	uintptr_t	start;
	uintptr_t	end;
	const char *bytes;			/* where those of the start are */
	uintptr_t	top;			/* the chunk that reaches to the end; 0: it
								 * has none */
} Region;

typedef struct Walk
{
	PlhHeapContexts *contexts;
	PlhHeapIndex *index;
	PlhHeapArenas arenas;
	uint32		context;		/* number of that of malloc's blocks */
	uint32		known;			/* blocks of contexts, by address */
	uint32		next_known;		/* the first that was not passed */
	Region		regions[MAX_REGIONS];	/* that were proven */
	uint32		region_count;
} Walk;

static inline uint64
word_at(const Region *region, uintptr_t address)
{
	uint64		word;

	memcpy(&word, region->bytes + (address - region->start), sizeof(word));
	return word;
}

static bool
read_word(Walk *walk, uintptr_t address, uint64 *word)
{
	const char *bytes = address % 8 != 0 ? NULL :
		plh_heap_memory_at(walk->contexts->memory, address, sizeof(*word));

	if (bytes == NULL)
		return false;
	memcpy(word, bytes, sizeof(*word));
	return true;
}

static inline Size
size_at(const Region *region, uintptr_t chunk)
{
	return word_at(region, chunk + 8) & ~FLAGS;
}

/* Free chunks other than the top one are told by the next. */
static inline bool
is_free(const Region *region, uintptr_t chunk)
{
	uintptr_t	next = chunk + size_at(region, chunk);

	return chunk == region->top ||
		(next < region->end && !(word_at(region, next + 8) & BEFORE_IS_USED));
}

/* A free chunk is in a ring, and its size stands behind it once more. */
static bool
is_well_free(Walk *walk, const Region *region, uintptr_t chunk, Size size)
{
	uint64		back;
	uint64		forth;

	return chunk == region->top ||
		(word_at(region, chunk + size) == size &&
		 read_word(walk, word_at(region, chunk + 16) + 24, &back) && back == chunk &&
		 read_word(walk, word_at(region, chunk + 24) + 16, &forth) && forth == chunk);
}

static void
pass_known(Walk *walk, uintptr_t address)
{
	uint32		high = walk->known;

	walk->next_known = 0;
	while (walk->next_known < high)
	{
		uint32		middle = walk->next_known + (high - walk->next_known) / 2;

		if (walk->index->blocks[middle].whole_end <= address)
			walk->next_known = middle + 1;
		else
			high = middle;
	}
}

/*
 * Is a chunk the block of a context?  Returns false if one lies in it as it can't.  Chunks are
 * asked for by address.
 */
static bool
look_for_known(Walk *walk, uintptr_t chunk, uintptr_t end, bool *is_known)
{
	const PlhHeapBlock *blocks = walk->index->blocks;
	uint32		at;

	while (walk->next_known < walk->known &&
		   blocks[walk->next_known].whole_end <= chunk + HEADER_BYTES)
		walk->next_known++;
	at = walk->next_known;
	*is_known = at < walk->known && blocks[at].whole < end;
	return !*is_known ||
		(blocks[at].whole == chunk + HEADER_BYTES && blocks[at].whole_end <= end &&
		 (at + 1 == walk->known || blocks[at + 1].whole >= end));
}

/* Chunks that are no blocks of contexts, one behind the other. */
static bool
add_run(Walk *walk, const Region *region, uintptr_t from, uintptr_t to)
{
	uintptr_t	end = Min(to + SHARED_BYTES, region->end);
	PlhHeapBlock block = {
		.whole = from,.start = from + HEADER_BYTES,.end = end,
		.whole_end = Min(to + HEADER_BYTES, region->end),
		.bytes = region->bytes + (from + HEADER_BYTES - region->start),
		.context = walk->context,.chunk_header = HEADER_BYTES - SHARED_BYTES
	};
	const PlhHeapBlock *added;

	if (from == to)
		return true;

	/*
	 * the end of the block before is no part of this one, though it belongs
	 * to that chunk
	 */
	if (from > region->start)
		block.whole += SHARED_BYTES;
	added = plh_heap_index_add_block(walk->index, &block);
	if (added == NULL)
		return false;
	for (uintptr_t chunk = from; chunk < to; chunk += size_at(region, chunk))
		plh_heap_index_add_chunk(walk->index, added, chunk + HEADER_BYTES,
								 is_free(region, chunk));
	return true;
}

/* Heaps of threads that are followed by others end with chunks that have no block. */
static bool
is_end(const Region *region, uintptr_t chunk)
{
	Size		size = size_at(region, chunk);

	return size == 0 || (size == HEADER_BYTES && region->end - chunk >= 2 * HEADER_BYTES &&
						 size_at(region, chunk + HEADER_BYTES) == 0);
}

static bool
is_chunk(Walk *walk, const Region *region, uintptr_t chunk, uint64 flags)
{
	uint64		head = word_at(region, chunk + 8);
	Size		size = head & ~FLAGS;

	return size >= LEAST_BYTES && size % 16 == 0 && size <= region->end - chunk &&
		!(head & IS_MAPPED) && (head & IS_OF_THREADS & ~flags) == 0 &&
		(chunk > region->start || head & BEFORE_IS_USED) &&
		(chunk == region->top) == (chunk + size == region->end && region->top != 0) &&
		(!is_free(region, chunk) || is_well_free(walk, region, chunk, size));
}

/* Add all chunks of a region.  Returns false where one is not what it must be. */
static bool
walk_chunks(Walk *walk, const Region *region, uint64 flags)
{
	uintptr_t	run = region->start;
	uintptr_t	chunk = region->start;

	pass_known(walk, region->start);
	while (region->end - chunk >= HEADER_BYTES && !(region->top == 0 && is_end(region, chunk)))
	{
		bool		is_known;
		Size		size = size_at(region, chunk);
		uintptr_t	end = Min(chunk + size + SHARED_BYTES, region->end);

		if (!is_chunk(walk, region, chunk, flags) ||
			!look_for_known(walk, chunk, end, &is_known) ||
			(is_known && is_free(region, chunk)))
			return false;
		if (is_known)
		{
			if (!add_run(walk, region, run, chunk))
				return false;
			run = chunk + size;
		}
		chunk += size;
	}
	return (region->top == 0 ? region->end - chunk <= 3 * HEADER_BYTES : chunk == region->end) &&
		add_run(walk, region, run, chunk);
}

/* A region that is not what it must be adds nothing. */
static bool
walk_region(Walk *walk, uintptr_t start, uintptr_t end, uintptr_t top, uint64 flags)
{
	uint32		blocks = walk->index->count;
	Region		region = {.start = start,.end = end,.top = top};

	if (start >= end || start % 16 != 0 || end % 16 != 0 || walk->region_count == MAX_REGIONS)
		return false;
	region.bytes = plh_heap_memory_at(walk->contexts->memory, start, end - start);
	if (region.bytes == NULL || !walk_chunks(walk, &region, flags))
	{
		plh_heap_index_rewind(walk->index, blocks);
		return false;
	}
	walk->regions[walk->region_count++] = region;
	return true;
}

/* What malloc itself has noted, of chunks that are free and of sums, holds nothing. */
static bool
walk_main(Walk *walk)
{
	const PlhHeapArenas *arenas = &walk->arenas;
	const PlhHeapArena *arena = &arenas->list[0];

	return walk_region(walk, arenas->main_start, arenas->main_start + arena->system_bytes,
					   arena->top, 0) &&
		plh_heap_memory_exclude(walk->contexts->memory, arena->address,
								arena->address + arenas->arena_bytes) &&
		plh_heap_memory_exclude(walk->contexts->memory, arenas->counts, arenas->counts_end);
}

/* Walk one heap of a thread's arena, whose description the first of them has. */
static bool
walk_heap(Walk *walk, const PlhHeapArena *arena, uintptr_t heap, Size header_bytes, Size bytes)
{
	bool		is_first = arena->address - heap == header_bytes;
	uintptr_t	start = heap + header_bytes + (is_first ? walk->arenas.arena_bytes : 0);
	uintptr_t	end = heap + bytes;
	uintptr_t	top = arena->top >= heap && arena->top < end ? arena->top : 0;

	start = TYPEALIGN(16, start);
	return bytes <= HEAP_ALIGNMENT && walk_region(walk, start, end, top, IS_OF_THREADS) &&
		plh_heap_memory_exclude(walk->contexts->memory, heap, start);
}

/* From the last heap, which has the top chunk, to the first. */
static bool
walk_heaps(Walk *walk, const PlhHeapArena *arena, Size header_bytes)
{
	uintptr_t	heap = arena->top & ~(HEAP_ALIGNMENT - 1);
	uintptr_t	first = arena->address & ~(HEAP_ALIGNMENT - 1);
	Size		sum = 0;

	for (bool is_last = false; !is_last;)
	{
		uint64		owner;
		uint64		before;
		uint64		bytes;

		is_last = heap == first;
		if (!read_word(walk, heap + HEAP_ARENA, &owner) || owner != arena->address ||
			!read_word(walk, heap + HEAP_BEFORE, &before) ||
			!read_word(walk, heap + HEAP_BYTES, &bytes) ||
			!walk_heap(walk, arena, heap, header_bytes, bytes))
			return false;
		sum += bytes;
		heap = before;
	}
	return sum == arena->system_bytes;
}

static bool
walk_arena(Walk *walk, const PlhHeapArena *arena)
{
	uint32		blocks = walk->index->count;
	uint32		regions = walk->region_count;

	for (int i = 0; i < lengthof(heap_header_bytes); i++)
	{
		if (arena->address % HEAP_ALIGNMENT == heap_header_bytes[i] &&
			walk_heaps(walk, arena, heap_header_bytes[i]))
			return true;
		plh_heap_index_rewind(walk->index, blocks);
		walk->region_count = regions;
	}
	return false;
}

/* What was found of blocks that are mappings. */
typedef struct Mapped
{
	uint64		bytes;
	uint32		count;
} Mapped;

/* The size of the mapping of a block with that head: from glibc 2.43 on, less the header's. */
static Size
mapping_size(uint64 head)
{
	Size		size = head & ~FLAGS;

	return size % PAGE == PAGE - HEADER_BYTES ? size + HEADER_BYTES : size;
}

/* The words at the begin of a page.  False: it can't be read, as the guard page of a stack. */
static bool
read_begin(const Region *page, uint64 words[2])
{
	if (!PLH_HEAP_FAULT_NONE())
		return false;
	memcpy(words, page->bytes, 2 * sizeof(uint64));
	return true;
}

/*
 * Add the mapping that begins at a page, if one does.  Returns its size; 0: none does.  Where the
 * block is aligned to more than others are, there is a header in front of it all the same.
 */
static Size
add_mapped(Walk *walk, const Region *page, Size limit)
{
	uint64		words[2] = {1, 0};
	bool		is_readable = read_begin(page, words);
	uint64		head = words[1];
	Size		size = mapping_size(head);
	uintptr_t	end = page->start + size;
	bool		is_known;
	PlhHeapBlock block = {
		.whole = page->start,.start = page->start + HEADER_BYTES,.end = end,.whole_end = end,
		.bytes = page->bytes + HEADER_BYTES,.context = walk->context
	};
	const PlhHeapBlock *added;

	if (!is_readable || words[0] != 0 || (head & FLAGS) != IS_MAPPED || size == 0 ||
		size % PAGE != 0 || size > limit || !look_for_known(walk, page->start, end, &is_known))
		return 0;
	if (is_known)
		return size;
	added = plh_heap_index_add_block(walk->index, &block);
	if (added == NULL)
		return 0;
	plh_heap_index_add_chunk(walk->index, added, block.start, false);
	return size;
}

/* The end of the proven region that an address lies in; 0: there is none. */
static uintptr_t
end_of_region(const Walk *walk, uintptr_t address)
{
	for (uint32 i = 0; i < walk->region_count; i++)
		if (address >= walk->regions[i].start && address < walk->regions[i].end)
			return walk->regions[i].end;
	return 0;
}

/* Mappings may lie side by side in a segment, and beside others that are not malloc's. */
static void
look_for_mapped(Walk *walk, const PlhHeapSegment *segment, Mapped *mapped)
{
	Region		page = {.start = segment->start,.bytes = segment->bytes};

	pass_known(walk, segment->start);
	while (page.start < segment->end)
	{
		Size		size = add_mapped(walk, &page, segment->end - page.start);

		if (size > 0)
		{
			mapped->bytes += size;
			mapped->count++;
		}
		page.start += Max(size, PAGE);
		page.bytes += Max(size, PAGE);
	}
}

/* Only if all of them were found, and nothing that looks like one. */
static void
walk_mapped(Walk *walk)
{
	const PlhHeapMemory *memory = walk->contexts->memory;
	uint32		blocks = walk->index->count;
	Mapped		mapped = {0};

	plh_heap_fault_catch();
	for (uint32 i = 0; i < memory->count; i++)
	{
		const PlhHeapSegment *segment = &memory->segments[i];

		if (segment->flags == PLH_HEAP_ROOT && segment->path[0] == '\0' &&
			segment->start % PAGE == 0 && segment->end % PAGE == 0 &&
			end_of_region(walk, segment->start) == 0)
			look_for_mapped(walk, segment, &mapped);
	}
	plh_heap_fault_release();
	if (mapped.bytes != walk->arenas.mapped_bytes ||
		(mapped.count != walk->arenas.mapped_counts[0] &&
		 mapped.count != walk->arenas.mapped_counts[1]))
		plh_heap_index_rewind(walk->index, blocks);
}

PlhHeapMallocState
plh_heap_malloc_walk(PlhHeapContexts *contexts, uintptr_t thread)
{
	Walk	   *walk = plh_heap_reserve(sizeof(Walk));

	if (walk == NULL || contexts->count == contexts->room)
		return PLH_HEAP_MALLOC_NO_ROOM;
	walk->contexts = contexts;
	walk->index = contexts->index;
	walk->known = contexts->index->count;
	walk->context = contexts->count;
	if (!plh_heap_arenas_find(&walk->arenas, contexts->memory) || !walk_main(walk))
		return PLH_HEAP_MALLOC_UNKNOWN;
	for (uint32 i = 1; i < walk->arenas.count; i++)
		(void) walk_arena(walk, &walk->arenas.list[i]);
	walk_mapped(walk);
	contexts->list[contexts->count++] = (PlhHeapContext)
	{
		.parent = PLH_HEAP_NO_CONTEXT,.kind = PLH_HEAP_KINDS,.flags = PLH_HEAP_MALLOC
	};
	if (!plh_heap_index_finish(walk->index))
		return PLH_HEAP_MALLOC_NO_ROOM;
	if (plh_heap_malloc_lists_take(contexts, walk->context, &walk->arenas, thread))
		return PLH_HEAP_MALLOC_PROVEN;
	plh_heap_contexts_hold_all(contexts, walk->context);
	return PLH_HEAP_MALLOC_UNKNOWN;
}
