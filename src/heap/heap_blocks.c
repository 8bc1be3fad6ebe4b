/*
 * heap_blocks.c
 *	  Reads the blocks and chunks of one memory context, of each kind that there is.
 *
 * Up to 15 a chunk points to its context, or, where it is free, to the next free one.  From 16 on
 * it says of which kind its context is, how large it is, and where its block begins.
 */
#include "postgres.h"

#include "heap/heap_blocks.h"

/* A context that is being walked. */
typedef struct Walk
{
	PlhHeapContexts *contexts;
	PlhHeapContext *context;
	uint32		number;
	Size		bytes;			/* of blocks so far */
	Size		header_bytes;	/* before the keeper, which some count, too */
} Walk;

static inline uint64
word_at(const char *bytes, Size offset)
{
	uint64		word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static inline uint32
half_word_at(const char *bytes, Size offset)
{
	uint32		word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static const char *
read_at(Walk *walk, uintptr_t address, Size bytes)
{
	return address % 8 != 0 ? NULL : plh_heap_memory_at(walk->contexts->memory, address, bytes);
}

/* Does a chunk of 16 or later say of itself what it must? */
static bool
is_chunk_of(const Walk *walk, uint64 mask, int method, uintptr_t header, uintptr_t block)
{
	const PlhHeapLayout *layout = walk->contexts->layout;
	int			told = PLH_HEAP_CHUNK_METHOD(mask, layout);

	return (told == method || told == method + layout->method_mark) &&
		(PLH_HEAP_CHUNK_IS_EXTERNAL(mask, layout) ||
		 PLH_HEAP_CHUNK_OFFSET(mask) == header - block);
}

/* Is the header of the context no part of a block? */
static bool
lies_alone(const Walk *walk)
{
	return walk->context->kind == PLH_HEAP_SLAB ||
		(walk->context->kind == PLH_HEAP_GENERATION &&
		 walk->contexts->layout->generation_context_bytes != 0);
}

/*
 * Add a block whose chunks begin behind its header, and note what it adds to the context.  A keeper
 * lies behind the context in the same memory.  NULL: it can't be.
 */
static PlhHeapBlock *
add_block(Walk *walk, uintptr_t block, Size header_bytes, uintptr_t used, uintptr_t end,
		  Size chunk_header)
{
	uintptr_t	context = walk->context->address;
	bool		is_keeper = !lies_alone(walk) && block > context &&
		block < context + PLH_HEAP_KEEPER_WITHIN;
	uintptr_t	whole = is_keeper ? context : block;
	PlhHeapBlock added = {
		.whole = whole,.start = block + header_bytes,.end = used,.whole_end = end,
		.context = walk->number,.chunk_header = chunk_header,
		.flags = is_keeper ? PLH_HEAP_KEEPER : 0
	};

	if (used < block + header_bytes || used > end || used % 8 != 0 || end % 8 != 0 ||
		end - block > walk->context->bytes - walk->bytes)
		return NULL;
	walk->bytes += end - block;
	walk->header_bytes += block - whole;
	added.bytes = read_at(walk, added.start, used - added.start);
	if (added.bytes == NULL && used > added.start)
		return NULL;
	return plh_heap_index_add_block(walk->contexts->index, &added);
}

/* Do the blocks make what the context says of itself? */
static bool
adds_up(const Walk *walk)
{
	return walk->bytes == walk->context->bytes ||
		walk->bytes + walk->header_bytes == walk->context->bytes;
}

/* A context whose header is no part of a block; addresses of it must be found all the same. */
static bool
add_header(Walk *walk, Size bytes)
{
	uintptr_t	context = walk->context->address;
	PlhHeapBlock header = {
		.whole = context,.start = context + bytes,.end = context + bytes,
		.whole_end = context + bytes,.context = walk->number,.flags = PLH_HEAP_KEEPER
	};

	return plh_heap_index_add_block(walk->contexts->index, &header) != NULL;
}

/* More than any block has. */
#define NO_CHUNK SIZE_MAX

/*
 * One chunk of an AllocSet or a generation context.  Returns its size without header, or NO_CHUNK.
 */
typedef Size (*ReadChunk) (const Walk *walk, const char *header, uintptr_t address,
						   uintptr_t block, const PlhHeapBlock *added, bool *is_free);

static bool
walk_chunks(Walk *walk, const PlhHeapBlock *added, uintptr_t block, ReadChunk read_chunk)
{
	uintptr_t	at = added->start;
	Size		header = added->chunk_header;

	while (at < added->end)
	{
		bool		is_free = false;
		Size		size = added->end - at < header ? NO_CHUNK :
			read_chunk(walk, added->bytes + (at - added->start), at, block, added, &is_free);

		/* a generation context has chunks of 0 bytes, too */
		if (size > added->end - at - header || size % 8 != 0)
			return false;
		plh_heap_index_add_chunk(walk->contexts->index, added, at + header, is_free);
		at += header + size;
	}
	return true;
}

/* 15: size, and context or the next free chunk */
static Size
read_set_chunk_15(const Walk *walk, const char *header, uintptr_t address,
				  uintptr_t block, const PlhHeapBlock *added, bool *is_free)
{
	*is_free = word_at(header, 8) != walk->context->address;
	return word_at(header, 0) == 0 ? NO_CHUNK : word_at(header, 0);
}

/* 16 and later: an index of a free list tells the size; a large chunk fills its block */
static Size
read_set_chunk(const Walk *walk, const char *header, uintptr_t address,
			   uintptr_t block, const PlhHeapBlock *added, bool *is_free)
{
	const PlhHeapLayout *layout = walk->contexts->layout;
	uint64		mask = word_at(header, 0);

	if (!is_chunk_of(walk, mask, PLH_HEAP_METHOD_ALLOC_SET, address, block))
		return NO_CHUNK;
	if (PLH_HEAP_CHUNK_IS_EXTERNAL(mask, layout))
		return address == added->start ? added->end - address - sizeof(mask) : NO_CHUNK;
	return PLH_HEAP_CHUNK_VALUE(mask, layout) < PLH_HEAP_SET_FREE_LIST_COUNT ?
		(Size) 8 << PLH_HEAP_CHUNK_VALUE(mask, layout) : NO_CHUNK;
}

static bool
walk_set(Walk *walk)
{
	bool		is_old = walk->contexts->layout->method_bits == 0;
	uintptr_t	previous = 0;
	const char *header = read_at(walk, walk->context->address,
								 PLH_HEAP_SET_FREE_LISTS + 8 * PLH_HEAP_SET_FREE_LIST_COUNT);
	uintptr_t	block = header == NULL ? 0 : word_at(header, PLH_HEAP_SET_BLOCKS);

	while (block != 0)
	{
		const char *bytes = read_at(walk, block, PLH_HEAP_SET_BLOCK_BYTES);
		PlhHeapBlock *added;

		if (bytes == NULL ||
			word_at(bytes, PLH_HEAP_SET_BLOCK_SET) != walk->context->address ||
			word_at(bytes, PLH_HEAP_SET_BLOCK_PREVIOUS) != previous)
			return false;
		added = add_block(walk, block, PLH_HEAP_SET_BLOCK_BYTES,
						  word_at(bytes, PLH_HEAP_SET_BLOCK_USED),
						  word_at(bytes, PLH_HEAP_SET_BLOCK_END), is_old ? 16 : 8);
		if (added == NULL ||
			!walk_chunks(walk, added, block, is_old ? read_set_chunk_15 : read_set_chunk))
			return false;
		previous = block;
		block = word_at(bytes, PLH_HEAP_SET_BLOCK_NEXT);
	}
	return adds_up(walk);
}

/* 15: size, block, and context, or none where it is free */
static Size
read_generation_chunk_15(const Walk *walk, const char *header, uintptr_t address,
						 uintptr_t block, const PlhHeapBlock *added, bool *is_free)
{
	*is_free = word_at(header, 16) == 0;
	return word_at(header, 8) == block &&
		(*is_free || word_at(header, 16) == walk->context->address) ? word_at(header, 0) : NO_CHUNK;
}

/* From 16 on nothing tells which chunks are free, but only how many. */
static Size
read_generation_chunk(const Walk *walk, const char *header, uintptr_t address,
					  uintptr_t block, const PlhHeapBlock *added, bool *is_free)
{
	const PlhHeapLayout *layout = walk->contexts->layout;
	uint64		mask = word_at(header, 0);

	if (!is_chunk_of(walk, mask, PLH_HEAP_METHOD_GENERATION, address, block))
		return NO_CHUNK;
	if (PLH_HEAP_CHUNK_IS_EXTERNAL(mask, layout))
		return address == added->start ? added->end - address - sizeof(mask) : NO_CHUNK;
	return PLH_HEAP_CHUNK_VALUE(mask, layout);
}

/* Visits each block of a ring, whose nodes lie at that offset in them. */
static bool
walk_ring(Walk *walk, uintptr_t head, Size node,
		  bool (*visit) (Walk *walk, uintptr_t block))
{
	const char *bytes = read_at(walk, head, 16);
	uintptr_t	previous = head;
	uintptr_t	next;

	if (bytes == NULL)
		return false;
	next = word_at(bytes, 8);

	/* an empty one may consist of zeros */
	if (next == 0)
		return word_at(bytes, 0) == 0;
	while (next != head)
	{
		bytes = read_at(walk, next, 16);
		if (bytes == NULL || word_at(bytes, 0) != previous || !visit(walk, next - node))
			return false;
		previous = next;
		next = word_at(bytes, 8);
	}
	return true;
}

static bool
visit_generation_block(Walk *walk, uintptr_t block)
{
	const PlhHeapLayout *layout = walk->contexts->layout;
	bool		is_old = layout->method_bits == 0;
	const char *bytes = read_at(walk, block, layout->generation_block_bytes);
	PlhHeapBlock *added;

	if (bytes == NULL)
		return false;
	added = add_block(walk, block, layout->generation_block_bytes,
					  word_at(bytes, layout->generation_block_used),
					  word_at(bytes, layout->generation_block_used + 8), is_old ? 24 : 8);
	if (added == NULL ||
		word_at(bytes, layout->generation_block_size) != added->whole_end - block)
		return false;
	if (!is_old && half_word_at(bytes, layout->generation_block_free) != 0)
		added->flags |= PLH_HEAP_UNSURE;
	return walk_chunks(walk, added, block,
					   is_old ? read_generation_chunk_15 : read_generation_chunk);
}

static bool
walk_generation(Walk *walk)
{
	const PlhHeapLayout *layout = walk->contexts->layout;

	return walk_ring(walk, walk->context->address + layout->generation_blocks, 0,
					 visit_generation_block) &&
		adds_up(walk) && (layout->generation_context_bytes == 0 ||
						  add_header(walk, layout->generation_context_bytes));
}

/* Chunks of a bump context have no headers: all of them are held. */
static bool
visit_bump_block(Walk *walk, uintptr_t block)
{
	const char *bytes = read_at(walk, block, 32);
	PlhHeapBlock *added;

	if (bytes == NULL)
		return false;
	added = add_block(walk, block, 32, word_at(bytes, 16), word_at(bytes, 24), 0);
	if (added == NULL)
		return false;
	added->flags |= PLH_HEAP_UNSURE;
	if (added->end > added->start)
		plh_heap_index_add_chunk(walk->contexts->index, added, added->start, false);
	return true;
}

static bool
walk_bump(Walk *walk)
{
	return walk_ring(walk, walk->context->address + walk->contexts->layout->bump_blocks, 0,
					 visit_bump_block) &&
		adds_up(walk);
}

/* What a slab says of its chunks and blocks. */
typedef struct Slab
{
	Size		chunk_bytes;	/* with header */
	Size		block_bytes;
	uint32		chunks;			/* in a block */
} Slab;

static bool
read_slab(Walk *walk, Slab *slab)
{
	bool		is_old = walk->contexts->layout->method_bits == 0;
	const char *bytes = read_at(walk, walk->context->address, 176);
	Size		header;

	if (bytes == NULL)
		return false;
	slab->chunk_bytes = is_old ? word_at(bytes, 88) : half_word_at(bytes, 84);
	slab->block_bytes = is_old ? word_at(bytes, 96) : half_word_at(bytes, 88);
	slab->chunks = half_word_at(bytes, is_old ? 112 : 92);
	header = walk->contexts->layout->slab_block_bytes;
	return slab->chunk_bytes >= 16 && slab->chunk_bytes % 8 == 0 && slab->chunks > 0 &&
		slab->block_bytes > header &&
		slab->chunks <= (slab->block_bytes - header) / slab->chunk_bytes;
}

/* Take the free chunks of a block: a list by numbers in 15, of addresses from 16 on. */
static bool
take_free_of_slab(Walk *walk, const Slab *slab, const PlhHeapBlock *added, uintptr_t block,
				  const char *bytes)
{
	bool		is_old = walk->contexts->layout->method_bits == 0;
	uint32		unused = is_old ? 0 : half_word_at(bytes, 12);
	uint32		count = half_word_at(bytes, is_old ? 16 : 8);
	uint64		next = is_old ? half_word_at(bytes, 20) : word_at(bytes, 16);
	uintptr_t	unused_from = is_old ? 0 : word_at(bytes, 24);

	if (count > slab->chunks || unused > count)
		return false;
	for (uint32 i = 0; i < count; i++)
	{
		uintptr_t	chunk = i < unused ? unused_from + i * slab->chunk_bytes :
			is_old ? added->start + next * slab->chunk_bytes : next;
		uintptr_t	content = chunk + added->chunk_header;

		if (chunk < added->start || chunk >= added->end ||
			(chunk - added->start) % slab->chunk_bytes != 0 ||
			!plh_heap_index_free_chunk(walk->contexts->index, added, content))
			return false;
		bytes = added->bytes + (content - added->start);
		if (i >= unused)
			next = is_old ? half_word_at(bytes, 0) : word_at(bytes, 0);
	}
	return true;
}

static bool
visit_slab_block(Walk *walk, uintptr_t block)
{
	const PlhHeapLayout *layout = walk->contexts->layout;
	bool		is_old = layout->method_bits == 0;
	const char *bytes = read_at(walk, block, layout->slab_block_bytes);
	Slab		slab;
	PlhHeapBlock *added;

	if (bytes == NULL || !read_slab(walk, &slab) ||
		(!is_old && word_at(bytes, 0) != walk->context->address))
		return false;
	added = add_block(walk, block, layout->slab_block_bytes,
					  block + layout->slab_block_bytes + slab.chunks * slab.chunk_bytes,
					  block + slab.block_bytes, is_old ? 16 : 8);
	if (added == NULL)
		return false;
	for (uint32 i = 0; i < slab.chunks; i++)
		plh_heap_index_add_chunk(walk->contexts->index, added,
								 added->start + i * slab.chunk_bytes + added->chunk_header, false);
	return take_free_of_slab(walk, &slab, added, block, bytes);
}

/* Blocks are in rings by how many chunks are free in them, and from 16 on those that are empty. */
static bool
walk_slab(Walk *walk)
{
	const PlhHeapLayout *layout = walk->contexts->layout;
	uintptr_t	rings = walk->context->address + layout->slab_blocks;
	bool		is_old = layout->method_bits == 0;
	Slab		slab;
	uint32		count;

	if (!read_slab(walk, &slab))
		return false;
	count = is_old ? slab.chunks + 1 : 3;
	if (!is_old)
	{
		if (!walk_ring(walk, rings, layout->slab_block_node, visit_slab_block))
			return false;
		rings += 24;
	}
	for (uint32 i = 0; i < count; i++)
		if (!walk_ring(walk, rings + i * 16, layout->slab_block_node, visit_slab_block))
			return false;
	return adds_up(walk) && add_header(walk, rings + count * 16 -
									   walk->context->address);
}

bool
plh_heap_blocks_walk(PlhHeapContexts *contexts, uint32 number)
{
	Walk		walk = {contexts, &contexts->list[number], number};

	switch (walk.context->kind)
	{
		case PLH_HEAP_ALLOC_SET:
			return walk_set(&walk);
		case PLH_HEAP_GENERATION:
			return walk_generation(&walk);
		case PLH_HEAP_SLAB:
			return walk_slab(&walk);
		case PLH_HEAP_BUMP:
			return walk_bump(&walk);
		default:
			return false;
	}
}

/* The free lists of an AllocSet of 16 or later. */
bool
plh_heap_blocks_take_free(PlhHeapContexts *contexts, uint32 number)
{
	Walk		walk = {contexts, &contexts->list[number], number};
	const char *header;

	if (walk.context->kind != PLH_HEAP_ALLOC_SET || contexts->layout->method_bits == 0)
		return true;
	header = read_at(&walk, walk.context->address,
					 PLH_HEAP_SET_FREE_LISTS + 8 * PLH_HEAP_SET_FREE_LIST_COUNT);
	for (int i = 0; i < PLH_HEAP_SET_FREE_LIST_COUNT; i++)
		for (uintptr_t chunk = word_at(header, PLH_HEAP_SET_FREE_LISTS + 8 * i); chunk != 0;)
		{
			uintptr_t	content = chunk + 8;
			const PlhHeapBlock *block = plh_heap_index_block(contexts->index, content);

			if (block == NULL || block->context != number || content < block->start ||
				content + 8 > block->end ||
				!plh_heap_index_free_chunk(contexts->index, block, content))
				return false;
			chunk = word_at(block->bytes, content - block->start);
		}
	return true;
}
