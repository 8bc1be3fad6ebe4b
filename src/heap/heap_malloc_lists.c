/*
 * heap_malloc_lists.c
 *	  Free blocks of malloc that look like ones in use, as they wait in lists to be given out again.
 *
 * What a thread keeps is described by a block of malloc itself, to which one of the thread's
 * variables points: numbers, then the first block of each list.  Each block has the address of
 * the next one and, from 2.30 on, a key, the same in all of them, which malloc erases when it
 * gives a block out.  From 2.32 on addresses of next blocks are mixed with those of the words
 * that they stand in.
 */
#include "postgres.h"

#include "heap/heap_fault.h"
#include "heap/heap_malloc_lists.h"

#define HEADER_BYTES 16
#define FLAGS UINT64CONST(7)

/* Lists of blocks of one size each: the chunks of the first have 32 bytes, then 16 more each. */
#define SMALL_LISTS 64
#define LEAST_CHUNK_BYTES 32
#define CHUNK_BYTES_OF(list) (LEAST_CHUNK_BYTES + 16 * (Size) (list))

#define KEY 8

#define PAGE_BYTES 4096

/* The variables of a thread are within this of its address. */
#define THREAD_BYTES ((uintptr_t) 64 * 1024)

/* What a thread's lists look like. */
typedef struct Layout
{
	Size		chunk_bytes;	/* of the block that describes them */
	uint32		lists;			/* those behind the small ones have chunks of
								 * several sizes */
	uint32		count_bytes;	/* of each number */
	bool		counts_room;	/* numbers say how many blocks more a list
								 * takes */
	bool		has_keys;
} Layout;

static const Layout layouts[] = {
	{0x250, 64, 1, false, false},	/* 2.26 to 2.29 */
	{0x290, 64, 2, false, true},	/* to 2.41 */
	{0x300, 76, 2, true, true}	/* from 2.42 on */
};

/* The search for what the thread keeps. */
typedef struct Lists
{
	PlhHeapContexts *contexts;
	uint32		context;
	bool		is_mixed;		/* addresses of next blocks */
	uint64		key;			/* 0: none was seen */
	uint32		room;			/* of each list; 0: not known yet */
	bool		takes;			/* blocks are free from now on; else they are
								 * looked at only */
} Lists;

static bool
read_word(const Lists *lists, uintptr_t address, uint64 *word)
{
	const char *bytes = address % 8 != 0 ? NULL :
		plh_heap_memory_at(lists->contexts->memory, address, sizeof(*word));

	if (bytes == NULL)
		return false;
	memcpy(word, bytes, sizeof(*word));
	return true;
}

/* The block of malloc that begins at an address, as a chunk of the index. */
static bool
find_block(const Lists *lists, uintptr_t address, PlhHeapChunk *chunk)
{
	const PlhHeapBlock *block = plh_heap_index_block(lists->contexts->index, address);

	return block != NULL && block->context == lists->context &&
		plh_heap_index_chunk(lists->contexts->index, block, address, chunk) &&
		chunk->start == address;
}

/* One that lies where malloc's memory is not proven is a root anyway. */
static bool
take(const Lists *lists, uintptr_t address)
{
	PlhHeapIndex *index = lists->contexts->index;
	const PlhHeapBlock *block = plh_heap_index_block(index, address);

	return block == NULL ||
		(block->context == lists->context && address >= block->start && address < block->end &&
		 plh_heap_index_free_chunk(index, block, address));
}

/* The next block of a list; 0: there is none. */
static bool
read_next(const Lists *lists, uintptr_t address, uint64 *next)
{
	if (!read_word(lists, address, next))
		return false;
	if (lists->is_mixed)
		*next ^= address >> 12;
	return *next % 16 == 0;
}

static bool
has_size(const Lists *lists, uintptr_t address, Size least, Size most)
{
	uint64		head;

	if (!read_word(lists, address - 8, &head))
		return false;
	return (head & ~FLAGS) >= least && (head & ~FLAGS) <= most;
}

/* All blocks that a thread keeps have the same key. */
static bool
has_key(Lists *lists, uintptr_t address)
{
	uint64		key;

	if (!read_word(lists, address + KEY, &key) || key == 0)
		return false;
	if (lists->key == 0)
		lists->key = key;
	return key == lists->key;
}

/* Follow one list.  Returns how many blocks it has, or -1: it is none. */
static int
follow_list(Lists *lists, const Layout *layout, uint32 number, uint64 address)
{
	Size		least = CHUNK_BYTES_OF(number);
	Size		most = number < SMALL_LISTS ? least : SIZE_MAX;
	int			count = 0;

	for (; address != 0; count++)
	{
		if (count == PG_UINT16_MAX || address % 16 != 0 || !has_size(lists, address, least, most) ||
			(layout->has_keys && !has_key(lists, address)) ||
			(lists->takes && !take(lists, address)) ||
			!read_next(lists, address, &address))
			return -1;
	}
	return count;
}

/* Is it what the description says?  A list that takes no blocks at all has no room, either. */
static bool
is_count(Lists *lists, const Layout *layout, uint32 number, int count)
{
	if (count < 0)
		return false;
	if (!layout->counts_room)
		return number == count;
	if (number == 0 && count == 0)
		return true;
	if (lists->room == 0)
		lists->room = number + count;
	return lists->room == number + count;
}

static bool
follow_lists(Lists *lists, const Layout *layout, const char *description)
{
	const char *firsts = description + TYPEALIGN(8, layout->lists * layout->count_bytes);

	for (uint32 i = 0; i < layout->lists; i++)
	{
		uint16		number = 0;
		uint64		first;

		memcpy(&number, description + i * layout->count_bytes, layout->count_bytes);
		memcpy(&first, firsts + i * sizeof(first), sizeof(first));
		if (!is_count(lists, layout, number,
					  follow_list(lists, layout, i, first)))
			return false;
	}
	return true;
}

/*
 * Is there a description at an address?  Then "lists" says how it is read, and "layout" which it
 * is.
 */
static bool
is_description(Lists *lists, uintptr_t address, const Layout **layout)
{
	PlhHeapChunk chunk;

	if (address == 0 || address % 16 != 0 || !find_block(lists, address, &chunk) ||
		plh_heap_index_is_found(lists->contexts->index, &chunk))
		return false;
	for (int i = 0; i < lengthof(layouts); i++)
	{
		*layout = &layouts[i];
		if (chunk.end - chunk.start != (*layout)->chunk_bytes - 8)
			continue;
		for (int is_mixed = 1; is_mixed >= 0; is_mixed--)
		{
			lists->is_mixed = is_mixed;
			lists->key = 0;
			lists->room = 0;
			if (follow_lists(lists, *layout, chunk.block->bytes + (address - chunk.block->start)))
				return true;
		}
	}
	return false;
}

/* The words around a thread's address that can be read. */
static const char *
words_of_thread(const PlhHeapMemory *memory, uintptr_t thread, uintptr_t *start, uintptr_t *end)
{
	for (uint32 i = 0; i < memory->count; i++)
	{
		const PlhHeapSegment *segment = &memory->segments[i];

		if (thread < segment->start || thread >= segment->end)
			continue;
		*start = TYPEALIGN(8, Max(segment->start, thread - Min(thread, THREAD_BYTES)));
		*end = Min(segment->end, thread + THREAD_BYTES);
		return segment->bytes + (*start - segment->start);
	}
	return NULL;
}

/* The one description that variables of the thread point to; 0: there is none, or several. */
static uintptr_t
find_description(Lists *lists, uintptr_t thread)
{
	uintptr_t	found = 0;
	bool		is_readable = false;
	uintptr_t	at;
	uintptr_t	end;
	const char *bytes = words_of_thread(lists->contexts->memory, thread, &at, &end);

	if (bytes == NULL)
		return 0;
	for (bool is_begin = true; at + sizeof(uint64) <= end;
		 at += sizeof(uint64), bytes += sizeof(uint64), is_begin = false)
	{
		const Layout *layout;
		uint64		word;

		/* a guard page may lie within the same segment */
		if (is_begin || at % PAGE_BYTES == 0)
			is_readable = plh_heap_fault_can_read(bytes);
		if (!is_readable)
			continue;
		memcpy(&word, bytes, sizeof(word));
		if (word == found || !is_description(lists, word, &layout))
			continue;
		if (found != 0)
			return 0;
		found = word;
	}
	return found;
}

/* Has a block that is not free the key of those that the thread keeps?  Then a list was missed. */
static bool
has_missed(const Lists *lists, const Layout *layout)
{
	const PlhHeapIndex *index = lists->contexts->index;

	if (lists->key == 0)
		return false;
	for (uint32 i = 0; i < index->count; i++)
	{
		const PlhHeapBlock *block = &index->blocks[i];
		PlhHeapChunk chunk;

		if (block->context != lists->context)
			continue;
		for (uintptr_t at = block->start;
			 plh_heap_index_next(index, block, at, &chunk); at = chunk.start + 8)
			if (!plh_heap_index_is_found(index, &chunk) &&
				(layout->counts_room || chunk.end - chunk.start < CHUNK_BYTES_OF(SMALL_LISTS)) &&
				memcmp(block->bytes + (chunk.start + KEY - block->start), &lists->key,
					   sizeof(lists->key)) == 0)
				return true;
	}
	return false;
}

static bool
take_of_thread(Lists *lists, uintptr_t thread)
{
	uintptr_t	address = find_description(lists, thread);
	const Layout *layout;
	PlhHeapChunk chunk;

	if (address == 0 || !is_description(lists, address, &layout) ||
		!find_block(lists, address, &chunk))
		return false;
	lists->takes = true;
	lists->key = 0;
	return follow_lists(lists, layout, chunk.block->bytes + (address - chunk.block->start)) &&
		!has_missed(lists, layout);
}

/* Fast bins refer to chunks, not to blocks. */
static bool
follow_fast_bin(const Lists *lists, uint32 number, uint64 chunk)
{
	Size		bytes = CHUNK_BYTES_OF(number);

	for (uint32 i = 0; chunk != 0; i++)
	{
		uint64		next;

		if (i == PG_INT32_MAX || chunk % 16 != 0 ||
			!has_size(lists, chunk + HEADER_BYTES, bytes, bytes) ||
			!read_next(lists, chunk + HEADER_BYTES, &next) ||
			(lists->takes && !take(lists, chunk + HEADER_BYTES)))
			return false;
		chunk = next;
	}
	return true;
}

static bool
follow_fast_bins(const Lists *lists, const PlhHeapArenas *arenas)
{
	for (uint32 i = 0; i < arenas->count; i++)
		for (uint32 number = 0; number < PLH_HEAP_FAST_BINS; number++)
		{
			uintptr_t	bins = arenas->list[i].address + arenas->fast_bins;
			uint64		first;

			if (!read_word(lists, bins + 8 * number, &first) ||
				!follow_fast_bin(lists, number, first))
				return false;
		}
	return true;
}

/* How the next ones are found shows only in a list of several. */
static bool
take_fast_bins(Lists *lists, const PlhHeapArenas *arenas)
{
	if (arenas->fast_bins == 0)
		return true;
	for (int is_mixed = 1; is_mixed >= 0; is_mixed--)
	{
		lists->is_mixed = is_mixed;
		lists->takes = false;
		if (follow_fast_bins(lists, arenas))
		{
			lists->takes = true;
			return follow_fast_bins(lists, arenas);
		}
	}
	return false;
}

bool
plh_heap_malloc_lists_take(PlhHeapContexts *contexts, uint32 context,
						   const PlhHeapArenas *arenas, uintptr_t thread)
{
	Lists		lists = {.contexts = contexts,.context = context};

	return take_of_thread(&lists, thread) && take_fast_bins(&lists, arenas);
}
