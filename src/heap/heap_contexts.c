/*
 * heap_contexts.c
 *	  The memory contexts of a process, their blocks and their chunks.
 *
 * A context has proven itself if its blocks point back to it and to each other, their chunks lie
 * one behind the other and end where the used part of the block does, each header says what it
 * must, and the blocks add up to what the context says of itself.  One that has not is closed: it
 * is taken out of the index, so that its memory is like any other that is not understood.
 */
#include "postgres.h"

#include "heap/heap.h"
#include "heap/heap_blocks.h"
#include "heap/heap_contexts.h"

/* A context has a block of its own, of 1 kB at least. */
#define LEAST_CONTEXT_BYTES 512
#define LEAST_CONTEXTS 4096

static uint64
word_at(const char *bytes, int offset)
{
	uint64		word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Read a context that must have that parent and that elder sibling. */
static bool
add_context(PlhHeapContexts *contexts, uintptr_t address, uint32 parent, uintptr_t previous)
{
	const char *header = plh_heap_memory_at(contexts->memory, address, PLH_HEAP_CONTEXT_BYTES);
	uint32		tag;
	PlhHeapContext *context;

	if (header == NULL || address % 8 != 0 || contexts->count == contexts->room ||
		word_at(header, PLH_HEAP_PARENT) !=
		(parent == PLH_HEAP_NO_CONTEXT ? 0 : contexts->list[parent].address) ||
		word_at(header, PLH_HEAP_PREVIOUS_CHILD) != previous)
		return false;
	context = &contexts->list[contexts->count++];
	*context = (PlhHeapContext)
	{
		.address = address,.parent = parent,.kind = PLH_HEAP_KINDS,
			.name = word_at(header, PLH_HEAP_NAME),.ident = word_at(header, PLH_HEAP_IDENT),
			.bytes = word_at(header, PLH_HEAP_MEM_ALLOCATED)
	};
	memcpy(&tag, header, sizeof(tag));
	for (int kind = 0; kind < PLH_HEAP_KINDS; kind++)
		if (tag != 0 && tag == contexts->layout->tags[kind])
			context->kind = kind;
	return true;
}

static uint64
link_of(PlhHeapContexts *contexts, uintptr_t address, int offset)
{
	const char *header = plh_heap_memory_at(contexts->memory, address, PLH_HEAP_CONTEXT_BYTES);

	return header == NULL ? 0 : word_at(header, offset);
}

/* Add all children of a context. */
static bool
add_children(PlhHeapContexts *contexts, uint32 parent)
{
	uintptr_t	previous = 0;
	uintptr_t	child = link_of(contexts, contexts->list[parent].address, PLH_HEAP_FIRST_CHILD);

	while (child != 0)
	{
		if (!add_context(contexts, child, parent, previous))
			return false;
		previous = child;
		child = link_of(contexts, child, PLH_HEAP_NEXT_CHILD);
	}
	return true;
}

static void
walk_blocks(PlhHeapContexts *contexts, uint32 number)
{
	uint32		blocks = contexts->index->count;
	PlhHeapContext *context = &contexts->list[number];

	if (plh_heap_blocks_walk(contexts, number))
		return;
	context->flags |= PLH_HEAP_CLOSED;
	plh_heap_index_rewind(contexts->index, blocks);
}

/* What is found to be wrong when the index is there. */
void
plh_heap_contexts_hold_all(PlhHeapContexts *contexts, uint32 number)
{
	PlhHeapIndex *index = contexts->index;

	contexts->list[number].flags |= PLH_HEAP_CLOSED;
	for (uint32 i = 0; i < index->count; i++)
	{
		PlhHeapBlock *block = &index->blocks[i];
		PlhHeapChunk chunk;

		if (block->context != number)
			continue;
		block->flags |= PLH_HEAP_UNSURE;
		for (uintptr_t at = block->start;
			 plh_heap_index_next(index, block, at, &chunk); at = chunk.start + 8)
			plh_heap_index_set_found(index, &chunk);
	}
}

bool
plh_heap_contexts_walk(PlhHeapContexts *contexts, const PlhHeapLayout *layout,
					   PlhHeapMemory *memory, PlhHeapIndex *index, uintptr_t top)
{
	uint32		room = plh_heap_memory_root_bytes(memory) / LEAST_CONTEXT_BYTES + LEAST_CONTEXTS;

	*contexts = (PlhHeapContexts)
	{
		.layout = layout,.memory = memory,.index = index,.room = room,
			.list = plh_heap_reserve(room * sizeof(PlhHeapContext))
	};
	if (contexts->list == NULL || !add_context(contexts, top, PLH_HEAP_NO_CONTEXT, 0))
		return false;
	for (uint32 i = 0; i < contexts->count; i++)
		if (!add_children(contexts, i))
			return false;
	for (uint32 i = 0; i < contexts->count; i++)
		walk_blocks(contexts, i);
	if (!plh_heap_index_finish(index))
		return false;
	for (uint32 i = 0; i < contexts->count; i++)
		if (!(contexts->list[i].flags & PLH_HEAP_CLOSED) && !plh_heap_blocks_take_free(contexts, i))
			plh_heap_contexts_hold_all(contexts, i);
	return true;
}

/* Its header begins the keeper block, or is a block without chunks. */
PlhHeapContext *
plh_heap_contexts_at(const PlhHeapContexts *contexts, uintptr_t address)
{
	const PlhHeapBlock *block = plh_heap_index_block(contexts->index, address);

	if (block == NULL || block->whole != address || !(block->flags & PLH_HEAP_KEEPER))
		return NULL;
	return &contexts->list[block->context];
}
