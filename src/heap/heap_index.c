/*
 * heap_index.c
 *	  Which chunk an address lies in, and which chunks were found.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "heap/heap.h"
#include "heap/heap_index.h"
#include "heap/heap_memory.h"

#define PAGE ((uintptr_t) 4096)

/* Blocks that are further apart than this are of two spans. */
#define SPAN_GAP ((uintptr_t) 16 * 1024 * 1024)
#define MAX_SPANS 65536

/*
 * A block has this many bytes, on average at least: where there are more of them, contexts are
 * closed.
 */
#define LEAST_BLOCK_BYTES 512

bool
plh_heap_index_start(PlhHeapIndex *index, Size bytes)
{
	memset(index, 0, sizeof(*index));

	/* the bits of each block begin with a word of their own */
	index->room = bytes / LEAST_BLOCK_BYTES + 1024;
	index->room_bits = bytes / 8 + (uint64) index->room * 64;
	index->blocks = plh_heap_reserve(index->room * sizeof(PlhHeapBlock));
	index->begins = plh_heap_reserve(index->room_bits / 8);
	index->found = plh_heap_reserve(index->room_bits / 8);
	index->spans = plh_heap_reserve(MAX_SPANS * sizeof(PlhHeapSpan));
	return index->blocks != NULL && index->begins != NULL && index->found != NULL &&
		index->spans != NULL;
}

/* NULL: there is no room. */
PlhHeapBlock *
plh_heap_index_add_block(PlhHeapIndex *index, const PlhHeapBlock *block)
{
	uint64		bits = TYPEALIGN64(64, (block->end - block->start) / 8 + 1);
	PlhHeapBlock *added;

	if (index->count == index->room || bits > index->room_bits - index->used_bits)
		return NULL;
	added = &index->blocks[index->count++];
	*added = *block;
	added->first_bit = index->used_bits;
	index->used_bits += bits;
	return added;
}

static inline uint64
bit_of(const PlhHeapBlock *block, uintptr_t address)
{
	return block->first_bit + (address - block->start) / 8;
}

void
plh_heap_index_add_chunk(PlhHeapIndex *index, const PlhHeapBlock *block, uintptr_t chunk,
						 bool is_free)
{
	uint64		bit = bit_of(block, chunk);

	index->begins[bit / 64] |= UINT64CONST(1) << bit % 64;
	if (is_free || block->flags & PLH_HEAP_UNSURE)
		index->found[bit / 64] |= UINT64CONST(1) << bit % 64;
}

/* Returns false if that is no chunk of the block, or is free already. */
bool
plh_heap_index_free_chunk(PlhHeapIndex *index, const PlhHeapBlock *block, uintptr_t chunk)
{
	uint64		bit = bit_of(block, chunk);
	uint64		mask = UINT64CONST(1) << bit % 64;

	if (chunk % 8 != 0 || !(index->begins[bit / 64] & mask) || index->found[bit / 64] & mask)
		return false;
	index->found[bit / 64] |= mask;
	return true;
}

void
plh_heap_index_rewind(PlhHeapIndex *index, uint32 count)
{
	uint64		from;

	if (count == index->count)
		return;
	from = index->blocks[count].first_bit / 64;
	memset(&index->begins[from], 0, (index->used_bits / 64 - from) * sizeof(uint64));
	memset(&index->found[from], 0, (index->used_bits / 64 - from) * sizeof(uint64));
	index->used_bits = from * 64;
	index->count = count;
}

#define ST_SORT sort_blocks
#define ST_ELEMENT_TYPE PlhHeapBlock
#define ST_COMPARE(a, b) ((a)->whole < (b)->whole ? -1 : (a)->whole > (b)->whole)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static Size
pages_of(const PlhHeapSpan *span)
{
	return (span->end - span->start + PAGE - 1) / PAGE;
}

/* Find the spans.  Returns the number of their pages; 0: there are too many. */
static Size
find_spans(PlhHeapIndex *index)
{
	Size		pages = 0;

	for (uint32 from = 0, to; from < index->count; from = to)
	{
		PlhHeapSpan *span = &index->spans[index->span_count++];

		if (index->span_count == MAX_SPANS)
			return 0;
		span->start = TYPEALIGN_DOWN(PAGE, index->blocks[from].whole);
		span->end = index->blocks[from].whole_end;
		for (to = from + 1;
			 to < index->count && index->blocks[to].whole - span->end < SPAN_GAP; to++)
			span->end = index->blocks[to].whole_end;
		pages += pages_of(span);
	}
	return pages;
}

/* Note, for each page of the spans, the first block that ends behind its start. */
static void
fill_spans(PlhHeapIndex *index, uint32 *pages)
{
	uint32		first = 0;

	for (uint32 i = 0; i < index->span_count; i++)
	{
		PlhHeapSpan *span = &index->spans[i];

		span->first = pages;
		for (Size page = 0; page < pages_of(span); page++)
		{
			while (index->blocks[first].whole_end <= span->start + page * PAGE)
				first++;
			*pages++ = first;
		}
	}
}

static bool
do_overlap(const PlhHeapIndex *index)
{
	for (uint32 i = 1; i < index->count; i++)
		if (index->blocks[i].whole < index->blocks[i - 1].whole_end)
			return true;
	return false;
}

bool
plh_heap_index_finish(PlhHeapIndex *index)
{
	Size		pages;
	uint32	   *first;

	index->span_count = 0;
	if (index->count == 0)
		return true;
	sort_blocks(index->blocks, index->count);
	if (do_overlap(index))
		return false;
	index->low = index->blocks[0].whole;
	index->high = index->blocks[index->count - 1].whole_end;
	pages = find_spans(index);
	first = pages == 0 ? NULL : plh_heap_reserve(pages * sizeof(uint32));
	if (first == NULL)
		return false;
	fill_spans(index, first);
	return true;
}

const PlhHeapBlock *
plh_heap_index_block(const PlhHeapIndex *index, uintptr_t address)
{
	uint32		low = 0;
	uint32		high = index->span_count;
	const PlhHeapBlock *block;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (index->spans[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->span_count || address < index->spans[low].start)
		return NULL;
	block = &index->blocks[index->spans[low].first[(address - index->spans[low].start) / PAGE]];
	while (block->whole_end <= address)
		block++;
	return address >= block->whole ? block : NULL;
}

/* The last bit that is set up to this one, but not before "first"; or -1. */
static int64
last_bit(const uint64 *bits, uint64 first, uint64 bit)
{
	int64		word = bit / 64;
	uint64		value = bits[word] & (~UINT64CONST(0) >> (63 - bit % 64));

	while (value == 0)
	{
		if (word == (int64) (first / 64))
			return -1;
		value = bits[--word];
	}
	return word * 64 + pg_leftmost_one_pos64(value);
}

/* The first bit that is set from this one on, but not behind "last"; or -1. */
static int64
first_bit(const uint64 *bits, uint64 bit, uint64 last)
{
	uint64		word = bit / 64;
	uint64		value;

	if (bit > last)
		return -1;
	value = bits[word] & (~UINT64CONST(0) << bit % 64);
	while (value == 0)
	{
		if (word == last / 64)
			return -1;
		value = bits[++word];
	}
	return word * 64 + pg_rightmost_one_pos64(value);
}

static void
set_chunk(const PlhHeapIndex *index, const PlhHeapBlock *block, int64 bit, PlhHeapChunk *chunk)
{
	int64		next = first_bit(index->begins, bit + 1, bit_of(block, block->end));

	chunk->block = block;
	chunk->bit = bit;
	chunk->start = block->start + (bit - block->first_bit) * 8;
	chunk->end = next < 0 ? block->end :
		block->start + (next - block->first_bit) * 8 - block->chunk_header;
}

bool
plh_heap_index_chunk(const PlhHeapIndex *index, const PlhHeapBlock *block,
					 uintptr_t address, PlhHeapChunk *chunk)
{
	int64		bit;

	if (address < block->start || address > block->end)
		return false;
	bit = last_bit(index->begins, block->first_bit, bit_of(block, address));
	if (bit < 0)
		return false;
	set_chunk(index, block, bit, chunk);
	return true;
}

bool
plh_heap_index_next(const PlhHeapIndex *index, const PlhHeapBlock *block,
					uintptr_t address, PlhHeapChunk *chunk)
{
	int64		bit;

	if (address > block->end)
		return false;
	bit = first_bit(index->begins, bit_of(block, Max(address, block->start)),
					bit_of(block, block->end));
	if (bit < 0)
		return false;
	set_chunk(index, block, bit, chunk);
	return true;
}
