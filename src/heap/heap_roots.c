/*
 * heap_roots.c
 *	  What holds memory by itself: variables, stacks, headers of contexts, and all that is unknown.
 *
 * What is no block of a context or of malloc, and private, may hold something: it is a root as a
 * whole, whatever it is.  So nothing has to be known of threads or their variables.
 */
#include "postgres.h"

#include "heap/heap.h"
#include "heap/heap_roots.h"
#include "heap/heap_variables.h"

#define MAX_BINARIES 1024
#define MAX_ROOTS 65536
#define ROOT_BUCKETS 131072

/* A context has no more callbacks than these. */
#define MAX_CALLBACKS 65536

struct PlhHeapRoots
{
	PlhHeapMark *mark;
	uintptr_t	stack;
	PlhHeapVariables *binaries;
	uint32		binary_count;
	PlhHeapRoot *list;
	uint32		count;
	uint32	   *buckets;		/* numbers of roots plus one */

	/* that is looked at */
	PlhHeapRootKind kind;
	uint32		context;
	PlhHeapVariables *binary;
};

/*
 * The root of that kind at that address, which may be new.  The last one stands for all without
 * room.
 */
static uint32
root_at(PlhHeapRoots *roots, uintptr_t address, const char *name)
{
	uint32		bucket = ((address + roots->kind + 1) * UINT64CONST(0x9E3779B97F4A7C15)) >> 47;
	PlhHeapRoot *root;

	for (; roots->buckets[bucket % ROOT_BUCKETS] != 0; bucket++)
	{
		uint32		number = roots->buckets[bucket % ROOT_BUCKETS] - 1;

		root = &roots->list[number];
		if (root->kind == roots->kind && root->address == address)
			return number;
	}
	if (roots->count == MAX_ROOTS - 1)
		return roots->count;
	roots->buckets[bucket % ROOT_BUCKETS] = roots->count + 1;
	root = &roots->list[roots->count];
	*root = (PlhHeapRoot)
	{
		.kind = roots->kind,.context = roots->context,.address = address,.name = name,
			.path = roots->binary != NULL ? roots->binary->path : ""
	};
	return roots->count++;
}

/* Each variable is a root of its own, or, where it has no name, each word. */
static uint32
root_of(void *arg, uintptr_t place)
{
	PlhHeapRoots *roots = arg;
	uintptr_t	start = place;
	const char *name = NULL;

	switch (roots->kind)
	{
		case PLH_HEAP_BY_VARIABLE:
			name = plh_heap_variables_find(roots->binary, place, &start);
			return root_at(roots, start, name);
		case PLH_HEAP_BY_CONTEXT:
			return root_at(roots, roots->mark->contexts->list[roots->context].address, NULL);
		default:
			return root_at(roots, 0, NULL);
	}
}

/* Look at a range of a segment, but not at blocks of contexts. */
static void
mark_outside_blocks(PlhHeapRoots *roots, const PlhHeapSegment *segment, uintptr_t from,
					uintptr_t to)
{
	const PlhHeapIndex *index = roots->mark->index;
	uint32		low = 0;
	uint32		high = index->count;

	/* the first block that ends behind the start */
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (index->blocks[middle].whole_end <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; from < to; low++)
	{
		bool		is_last = low == index->count || index->blocks[low].whole >= to;
		uintptr_t	end = is_last ? to : Max(index->blocks[low].whole, from);

		plh_heap_mark_range(roots->mark, from, segment->bytes + (from - segment->start),
							end - from, segment->flags & PLH_HEAP_CODE);
		if (is_last)
			break;
		from = Max(index->blocks[low].whole_end, from);
	}
}

static void
mark_binary(PlhHeapRoots *roots, PlhHeapVariables *binary)
{
	const PlhHeapMemory *memory = roots->mark->contexts->memory;

	roots->binary = binary;
	roots->mark->is_observer = roots->mark->observer >= binary->start &&
		roots->mark->observer < binary->end;
	for (uint32 i = 0; i < memory->count; i++)
	{
		const PlhHeapSegment *segment = &memory->segments[i];

		if (segment->flags & PLH_HEAP_ROOT &&
			segment->start < binary->end && segment->end > binary->start)
			mark_outside_blocks(roots, segment, Max(segment->start, binary->start),
								Min(segment->end, binary->end));
	}
	roots->binary = NULL;
	roots->mark->is_observer = false;
}

static bool
is_placed(const PlhHeapRoots *roots, const PlhHeapSegment *segment)
{
	for (uint32 i = 0; i < roots->binary_count; i++)
		if (segment->start >= roots->binaries[i].start && segment->start < roots->binaries[i].end)
			return true;
	return false;
}

/* Variables that are 0 at first lie behind the part that is of the file. */
static void
place_binaries(PlhHeapRoots *roots)
{
	const PlhHeapMemory *memory = roots->mark->contexts->memory;

	for (uint32 i = 0; i < memory->count && roots->binary_count < MAX_BINARIES; i++)
	{
		const PlhHeapSegment *segment = &memory->segments[i];

		if ((segment->flags & (PLH_HEAP_FILE | PLH_HEAP_ROOT)) != (PLH_HEAP_FILE | PLH_HEAP_ROOT) ||
			is_placed(roots, segment))
			continue;
		if (plh_heap_variables_place(&roots->binaries[roots->binary_count], segment->path,
									 segment->start, segment->file_offset))
			roots->binary_count++;
	}
}

/*
 * A context's callbacks are a list that begins in its header; each has a function, its argument and
 * the next one.  They may lie in memory that is no root.
 */
static void
mark_callbacks(PlhHeapRoots *roots, uintptr_t callback)
{
	for (int i = 0; callback != 0 && i < MAX_CALLBACKS; i++)
	{
		const char *bytes = plh_heap_memory_at(roots->mark->contexts->memory, callback,
											   3 * sizeof(uint64));
		uint64		words[3];

		plh_heap_mark_word(roots->mark, callback, callback);
		if (bytes == NULL)
			break;
		memcpy(words, bytes, sizeof(words));
		plh_heap_mark_word(roots->mark, callback, words[1]);
		callback = words[2];
	}
}

/* What is to be called when a context goes is used then. */
static void
mark_all_callbacks(PlhHeapRoots *roots)
{
	PlhHeapContexts *contexts = roots->mark->contexts;

	roots->kind = PLH_HEAP_BY_CONTEXT;
	for (uint32 i = 0; i < contexts->count; i++)
	{
		const char *header = plh_heap_memory_at(contexts->memory, contexts->list[i].address,
												PLH_HEAP_CONTEXT_BYTES);
		uint64		callbacks;

		if (header == NULL)
			continue;
		roots->context = i;
		memcpy(&callbacks, header + PLH_HEAP_RESET_CALLBACKS, sizeof(callbacks));
		mark_callbacks(roots, callbacks);
	}
}

/*
 * A context that is in use has a name and an identifier, which may lie in the middle of a chunk of
 * its own, as those of a hash table do: so a context that nobody has must not hold itself by these.
 * What they hold may use further ones.
 */
static void
mark_names(PlhHeapRoots *roots)
{
	PlhHeapContexts *contexts = roots->mark->contexts;
	bool		is_new = true;

	roots->kind = PLH_HEAP_BY_CONTEXT;
	while (is_new)
	{
		is_new = false;
		for (uint32 i = 0; i < contexts->count; i++)
		{
			PlhHeapContext *context = &contexts->list[i];

			if (!(context->flags & (PLH_HEAP_KNOWN | PLH_HEAP_USED)) ||
				context->flags & PLH_HEAP_NAMED)
				continue;
			is_new = true;
			context->flags |= PLH_HEAP_NAMED;
			roots->context = i;
			plh_heap_mark_word(roots->mark, context->address, context->name);
			plh_heap_mark_word(roots->mark, context->address, context->ident);
		}
	}
}

/* The whole of it, where the process runs on another stack. */
static void
mark_stack(PlhHeapRoots *roots, const PlhHeapSegment *segment)
{
	bool		is_in_use = roots->stack >= segment->start && roots->stack < segment->end;

	roots->kind = PLH_HEAP_BY_STACK;
	mark_outside_blocks(roots, segment, is_in_use ? roots->stack : segment->start, segment->end);
}

/* Where a segment goes on behind the variables of a binary, if it begins with these. */
static uintptr_t
behind_binary(const PlhHeapRoots *roots, const PlhHeapSegment *segment)
{
	for (uint32 i = 0; i < roots->binary_count; i++)
		if (segment->start >= roots->binaries[i].start && segment->start < roots->binaries[i].end)
			return Min(roots->binaries[i].end, segment->end);
	return segment->start;
}

/* All else that is private. */
static void
mark_rest(PlhHeapRoots *roots)
{
	const PlhHeapMemory *memory = roots->mark->contexts->memory;

	for (uint32 i = 0; i < memory->count; i++)
	{
		const PlhHeapSegment *segment = &memory->segments[i];

		if (!(segment->flags & PLH_HEAP_ROOT) || segment->flags & PLH_HEAP_STACK)
			continue;
		roots->kind = segment->flags & PLH_HEAP_CODE ? PLH_HEAP_BY_CODE : PLH_HEAP_BY_OTHER;
		mark_outside_blocks(roots, segment, behind_binary(roots, segment), segment->end);
	}
}

/*
 * Chunks of which it is not known whether they are free hold what they point to.  Of a context that
 * is not understood, somebody has the header, and by it the blocks.
 */
static void
mark_unsure(PlhHeapRoots *roots)
{
	const PlhHeapIndex *index = roots->mark->index;
	const PlhHeapContexts *contexts = roots->mark->contexts;

	roots->kind = PLH_HEAP_BY_CLOSED;
	for (uint32 i = 0; i < contexts->count; i++)
		if (contexts->list[i].flags & PLH_HEAP_CLOSED)
			plh_heap_mark_word(roots->mark, contexts->list[i].address, contexts->list[i].address);
	for (uint32 i = 0; i < index->count; i++)
		if (index->blocks[i].flags & PLH_HEAP_UNSURE)
			plh_heap_mark_range(roots->mark, index->blocks[i].start, index->blocks[i].bytes,
								index->blocks[i].end - index->blocks[i].start, false);
}

static PlhHeapRoots *
make_roots(PlhHeapMark *mark, uintptr_t stack)
{
	PlhHeapRoots *roots = plh_heap_reserve(sizeof(PlhHeapRoots));

	if (roots == NULL)
		return NULL;
	roots->mark = mark;
	roots->stack = stack;
	roots->binaries = plh_heap_reserve(MAX_BINARIES * sizeof(PlhHeapVariables));
	roots->list = plh_heap_reserve(MAX_ROOTS * sizeof(PlhHeapRoot));
	roots->buckets = plh_heap_reserve(ROOT_BUCKETS * sizeof(uint32));
	if (roots->binaries == NULL || roots->list == NULL || roots->buckets == NULL)
		return NULL;
	roots->list[MAX_ROOTS - 1] = (PlhHeapRoot)
	{
		.kind = PLH_HEAP_BY_OTHER,.path = ""
	};
	return roots;
}

/* Counts what each root holds, and hands it on. */
typedef struct Relay
{
	PlhHeapRoots *roots;
	void		(*found) (void *arg, const PlhHeapFound *found);
	void	   *arg;
} Relay;

static void
relay_found(void *arg, const PlhHeapFound *found)
{
	Relay	   *relay = arg;
	PlhHeapRoot *root = &relay->roots->list[found->root];

	relay->roots->mark->contexts->list[found->chunk->block->context].flags |= PLH_HEAP_USED;
	root->chunks++;
	root->bytes += found->chunk->end - found->chunk->start;
	relay->found(relay->arg, found);
}

static uint32
relay_root(void *arg, uintptr_t place)
{
	return root_of(((Relay *) arg)->roots, place);
}

PlhHeapRoots *
plh_heap_roots_mark(PlhHeapMark *mark, uintptr_t stack)
{
	PlhHeapRoots *roots = make_roots(mark, stack);
	Relay		relay = {roots, mark->found, mark->arg};
	const PlhHeapMemory *memory = mark->contexts->memory;

	if (roots == NULL)
		return NULL;
	mark->found = relay_found;
	mark->root_of = relay_root;
	mark->arg = &relay;
	place_binaries(roots);
	for (uint32 i = 0; i < roots->binary_count; i++)
	{
		roots->kind = PLH_HEAP_BY_VARIABLE;
		mark_binary(roots, &roots->binaries[i]);
	}
	mark_all_callbacks(roots);
	for (uint32 i = 0; i < memory->count; i++)
		if (memory->segments[i].flags & PLH_HEAP_STACK)
			mark_stack(roots, &memory->segments[i]);
	mark_rest(roots);
	mark_unsure(roots);
	mark_names(roots);
	mark->found = relay.found;
	mark->arg = relay.arg;
	return mark->has_failed ? NULL : roots;
}

const PlhHeapRoot *
plh_heap_roots_at(const PlhHeapRoots *roots, uint32 number)
{
	return &roots->list[number];
}
