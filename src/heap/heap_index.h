/*
 * heap_index.h
 *	  Which chunk an address lies in, and which chunks were found.
 *
 * Blocks are added in any order, each with its chunks; plh_heap_index_finish makes them searchable.
 * Further ones may be added then, and are searchable once that was called again.
 * There are two bits for each 8 bytes of a block: one is set where a chunk begins, the other once
 * the chunk was found, or if it is free.  So the index takes some 4% of what it covers.
 */
#pragma once

/* What a block is. */
#define PLH_HEAP_KEEPER 0x1		/* its memory begins with the header of its
								 * context */
#define PLH_HEAP_UNSURE 0x2		/* chunks may be free: all are held */

typedef struct PlhHeapBlock
{
	uintptr_t	whole;			/* where its memory begins */
	uintptr_t	start;			/* where chunks may begin */
	uintptr_t	end;			/* of the used part */
	uintptr_t	whole_end;
	const char *bytes;			/* where those of the start are */
	uint64		first_bit;
	uint32		context;		/* number of its context */
	uint16		chunk_header;	/* bytes before each chunk */
	uint16		flags;
} PlhHeapBlock;

/* Blocks that lie near each other, with the first of each page. */
typedef struct PlhHeapSpan
{
	uintptr_t	start;
	uintptr_t	end;
	uint32	   *first;
} PlhHeapSpan;

typedef struct PlhHeapIndex
{
	PlhHeapBlock *blocks;
	uint32		count;
	uint32		room;
	uint64	   *begins;
	uint64	   *found;
	uint64		used_bits;
	uint64		room_bits;
	PlhHeapSpan *spans;
	uint32		span_count;
	uintptr_t	low;			/* no block is below, and none above */
	uintptr_t	high;
} PlhHeapIndex;

/* A chunk that was found in the index. */
typedef struct PlhHeapChunk
{
	const PlhHeapBlock *block;
	uintptr_t	start;
	uintptr_t	end;
	uint64		bit;
} PlhHeapChunk;

/*
 * Addresses of a process have 47 bits on x86-64, and 48 on ARM; languages put tags of theirs above.
 */
#ifdef __aarch64__
#define PLH_HEAP_ADDRESS_BITS 48
#else
#define PLH_HEAP_ADDRESS_BITS 47
#endif
#define PLH_HEAP_ADDRESS_MASK ((UINT64CONST(1) << PLH_HEAP_ADDRESS_BITS) - 1)

/* For blocks of that many bytes in all.  Returns false if there is no address space. */
extern bool plh_heap_index_start(PlhHeapIndex *index, Size bytes);

extern PlhHeapBlock *plh_heap_index_add_block(PlhHeapIndex *index, const PlhHeapBlock *block);
extern void plh_heap_index_add_chunk(PlhHeapIndex *index, const PlhHeapBlock *block,
									 uintptr_t chunk, bool is_free);
extern bool plh_heap_index_free_chunk(PlhHeapIndex *index, const PlhHeapBlock *block,
									  uintptr_t chunk);

/* Take back the blocks that were added since there were so many. */
extern void plh_heap_index_rewind(PlhHeapIndex *index, uint32 count);

/* Returns false if blocks overlap, or there is no room. */
extern bool plh_heap_index_finish(PlhHeapIndex *index);

extern const PlhHeapBlock *plh_heap_index_block(const PlhHeapIndex *index, uintptr_t address);

/* The chunk of a block that an address lies in, or ends at. */
extern bool plh_heap_index_chunk(const PlhHeapIndex *index, const PlhHeapBlock *block,
								 uintptr_t address, PlhHeapChunk *chunk);

/* The next chunk of a block from an address on, free or not. */
extern bool plh_heap_index_next(const PlhHeapIndex *index, const PlhHeapBlock *block,
								uintptr_t address, PlhHeapChunk *chunk);

static inline bool
plh_heap_index_is_found(const PlhHeapIndex *index, const PlhHeapChunk *chunk)
{
	return index->found[chunk->bit / 64] >> chunk->bit % 64 & 1;
}

static inline void
plh_heap_index_set_found(PlhHeapIndex *index, const PlhHeapChunk *chunk)
{
	index->found[chunk->bit / 64] |= UINT64CONST(1) << chunk->bit % 64;
}
