/*
 * heap_mark.c
 *	  Finds all chunks that can be reached, root by root.
 */
#include "postgres.h"

#include "heap/heap.h"
#include "heap/heap_fault.h"
#include "heap/heap_mark.h"

#define PAGE ((Size) 4096)

/* Room for chunks that wait, as a part of the bits of the index; at least so many. */
#define WAITING_PART 8
#define LEAST_WAITING 65536

bool
plh_heap_mark_start(PlhHeapMark *mark, PlhHeapContexts *contexts)
{
	mark->contexts = contexts;
	mark->index = contexts->index;
	mark->waiting_count = 0;
	mark->waiting_room = Max(contexts->index->used_bits / 64 / WAITING_PART, LEAST_WAITING);
	mark->waiting = plh_heap_reserve(mark->waiting_room * sizeof(uintptr_t));
	mark->has_overflowed = false;
	mark->is_observer = false;
	mark->is_following = false;
	mark->is_at_work = false;
	mark->has_failed = false;
	mark->unreadable_pages = 0;
	return mark->waiting != NULL;
}

/* Where the search stands. */
typedef struct Position
{
	uint32		root;
	uintptr_t	first;
	uintptr_t	from;
} Position;

static inline bool
may_be_pointer(const PlhHeapIndex *index, uint64 word)
{
	return word - index->low <= index->high - index->low;
}

/* The header of a context: somebody knows it. */
static void
know_context(PlhHeapMark *mark, const PlhHeapBlock *block, uintptr_t address)
{
	if (block->flags & PLH_HEAP_KEEPER && address < block->start &&
		(!mark->is_observer || mark->is_following))
		mark->contexts->list[block->context].flags |= PLH_HEAP_KNOWN;
}

static void
wait_with(PlhHeapMark *mark, uintptr_t chunk)
{
	if (mark->waiting_count == mark->waiting_room)
		mark->has_overflowed = true;
	else
		mark->waiting[mark->waiting_count++] = chunk;
}

/*
 * The end of a block is that of its last chunk, too, but may be where the next block begins.  Its
 * first bytes are no chunk.  Where the block's mapping ends as well, the address is rather that of
 * the next mapping.
 */
static inline bool
find_chunk(PlhHeapMark *mark, uintptr_t address, PlhHeapChunk *chunk)
{
	const PlhHeapBlock *block = plh_heap_index_block(mark->index, address);

	if (block != NULL)
	{
		if (plh_heap_index_chunk(mark->index, block, address, chunk))
			return true;
		know_context(mark, block, address);
	}
	block = plh_heap_index_block(mark->index, address - 1);
	return block != NULL && block->end == address &&
		!plh_heap_memory_ends_at(mark->contexts->memory, address) &&
		plh_heap_index_chunk(mark->index, block, address, chunk);
}

static inline void
look_at(PlhHeapMark *mark, uint64 word, const Position *position)
{
	uintptr_t	address = word & PLH_HEAP_ADDRESS_MASK;
	PlhHeapChunk chunk;
	PlhHeapFound found;

	if (!may_be_pointer(mark->index, address) || !find_chunk(mark, address, &chunk) ||
		plh_heap_index_is_found(mark->index, &chunk))
		return;
	plh_heap_index_set_found(mark->index, &chunk);
	found = (PlhHeapFound)
	{
		&chunk, position->root, position->first != 0 ? position->first : chunk.start, position->from
	};
	mark->found(mark->arg, &found);
	wait_with(mark, chunk.start);
}

static void
look_at_words(PlhHeapMark *mark, const char *bytes, Size length, const Position *position)
{
	for (const char *end = bytes + length; bytes + sizeof(uint64) <= end; bytes += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, bytes, sizeof(word));
		look_at(mark, word, position);
	}
}

static void
look_at_chunk(PlhHeapMark *mark, uintptr_t address, Position *position)
{
	const PlhHeapBlock *block = plh_heap_index_block(mark->index, address);
	PlhHeapChunk chunk;

	if (!plh_heap_index_chunk(mark->index, block, address, &chunk))
		return;
	position->from = chunk.start;
	look_at_words(mark, block->bytes + (chunk.start - block->start), chunk.end - chunk.start,
				  position);
}

/* Look once more at all that was found: some of it has not been looked at. */
static void
look_again(PlhHeapMark *mark, Position *position)
{
	PlhHeapIndex *index = mark->index;

	mark->has_overflowed = false;
	for (uint32 i = 0; i < index->count; i++)
	{
		PlhHeapChunk chunk;

		for (uintptr_t at = index->blocks[i].start;
			 plh_heap_index_next(index, &index->blocks[i], at, &chunk); at = chunk.start + 8)
			if (plh_heap_index_is_found(index, &chunk))
			{
				look_at_chunk(mark, chunk.start, position);
				while (mark->waiting_count > 0)
					look_at_chunk(mark, mark->waiting[--mark->waiting_count], position);
			}
	}
}

/* Follow all that one root points to. */
static void
follow(PlhHeapMark *mark, uint32 root, uintptr_t first)
{
	Position	position = {.root = root,.first = first};

	mark->is_following = true;
	while (mark->waiting_count > 0)
		look_at_chunk(mark, mark->waiting[--mark->waiting_count], &position);
	while (mark->has_overflowed)
		look_again(mark, &position);
	mark->is_following = false;
}

void
plh_heap_mark_word(PlhHeapMark *mark, uintptr_t place, uint64 word)
{
	uintptr_t	address = word & PLH_HEAP_ADDRESS_MASK;
	PlhHeapChunk chunk;
	Position	position = {0};

	if (!may_be_pointer(mark->index, address) || !find_chunk(mark, address, &chunk) ||
		plh_heap_index_is_found(mark->index, &chunk))
		return;
	mark->is_at_work = true;
	position.root = mark->root_of(mark->arg, place);
	look_at(mark, word, &position);
	follow(mark, position.root, chunk.start);
	mark->is_at_work = false;
}

static void
look_at_page(PlhHeapMark *mark, uintptr_t from, const char *bytes, Size length, Size step)
{
	for (Size at = 0; at + sizeof(uint64) <= length; at += step)
	{
		uint64		word;

		memcpy(&word, bytes + at, sizeof(word));
		plh_heap_mark_word(mark, from + at, word);

		/*
		 * code takes 4 bytes for what lies low, as in a server that is not
		 * PIE
		 */
		if (step == 1 && mark->index->low <= PG_UINT32_MAX)
			plh_heap_mark_word(mark, from + at, (uint32) word);
	}
}

/* Returns false if nobody can read the page, as of a file that was cut short. */
static bool
try_page(PlhHeapMark *mark, uintptr_t from, const char *bytes, Size length, Size step)
{
	if (!PLH_HEAP_FAULT_NONE())
		return false;
	look_at_page(mark, from, bytes, length, step);
	return true;
}

void
plh_heap_mark_range(PlhHeapMark *mark, uintptr_t from, const char *bytes, Size length,
					bool at_each_byte)
{
	Size		step = at_each_byte ? 1 : sizeof(uint64);
	Size		at = at_each_byte ? 0 : TYPEALIGN(step, from) - from;

	plh_heap_fault_catch();
	while (at < length && !mark->has_failed)
	{
		Size		rest = PAGE - (from + at) % PAGE;

		/* a word of code may lie across two pages */
		if (!try_page(mark, from + at, bytes + at,
					  Min(length - at, rest + (at_each_byte ? sizeof(uint64) - 1 : 0)), step))
		{
			mark->unreadable_pages++;
			mark->has_failed = mark->is_at_work;
		}
		at += rest;
	}
	plh_heap_fault_release();
}
