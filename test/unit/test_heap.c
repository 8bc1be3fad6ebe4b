/*
 * test_heap.c
 *	  Which chunks are lost and which are held, in memory that is made up: contexts of each kind, as
 *	  they lie in each version of PostgreSQL, and such as are damaged.
 */
#include "postgres.h"

#include "nodes/nodes.h"

#include "heap/heap_known.h"
#include "heap/heap_roots.h"
#include "tap.h"
#include "unit_tests.h"

/* The memory begins at this address, which is not where its bytes are. */
#define BASE UINT64CONST(0x7f0000000000)
#define MEMORY_BYTES (256 * 1024)

/* Words at the end of the memory, which belong to no context. */
#define ROOTS (MEMORY_BYTES - 4096)

static char bytes[MEMORY_BYTES] pg_attribute_aligned(16);
static const PlhHeapLayout *layout;
static Size used;
static int	root_count;

static void
put(Size at, uint64 word)
{
	memcpy(bytes + at, &word, sizeof(word));
}

static void
put_half(Size at, uint32 word)
{
	memcpy(bytes + at, &word, sizeof(word));
}

static uint64
get(Size at)
{
	uint64		word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static bool
is_old(void)
{
	return layout->method_bits == 0;
}

/* Make a context, the youngest child of its parent.  Offsets stand for addresses; 0 is the first. */
static void
make_context(Size at, uint32 tag, Size parent, Size allocated)
{
	put_half(at, tag);
	put(at + PLH_HEAP_MEM_ALLOCATED, allocated);
	if (at == 0)
		return;
	put(at + PLH_HEAP_PARENT, BASE + parent);
	put(at + PLH_HEAP_NEXT_CHILD, get(parent + PLH_HEAP_FIRST_CHILD));
	if (get(parent + PLH_HEAP_FIRST_CHILD) != 0)
		put(get(parent + PLH_HEAP_FIRST_CHILD) - BASE + PLH_HEAP_PREVIOUS_CHILD, BASE + at);
	put(parent + PLH_HEAP_FIRST_CHILD, BASE + at);
}

static uint64
mask_of(int method, uint64 value, Size header, Size block)
{
	return method | value << (layout->method_bits + 1) | (uint64) (header - block) << 34;
}

/* An AllocSet with chunks of 64 bytes in its keeper.  Returns where the first one begins. */
static Size
make_set(Size parent, int chunks)
{
	Size		at = used;
	Size		block = at + 224;
	Size		header = is_old() ? 16 : 8;
	Size		end = block + PLH_HEAP_SET_BLOCK_BYTES + chunks * (header + 64);

	used = end + 64;
	make_context(at, T_AllocSetContext, parent, used - at);
	put(at + PLH_HEAP_SET_BLOCKS, BASE + block);
	put(block + PLH_HEAP_SET_BLOCK_SET, BASE + at);
	put(block + PLH_HEAP_SET_BLOCK_USED, BASE + end);
	put(block + PLH_HEAP_SET_BLOCK_END, BASE + used);
	for (int i = 0; i < chunks; i++)
	{
		Size		chunk = block + PLH_HEAP_SET_BLOCK_BYTES + i * (header + 64);

		if (is_old())
		{
			put(chunk, 64);
			put(chunk + 8, BASE + at);
		}
		else
			put(chunk, mask_of(PLH_HEAP_METHOD_ALLOC_SET, 3, chunk, block));
	}
	return block + PLH_HEAP_SET_BLOCK_BYTES + header;
}

/* The distance of two chunks of 64 bytes. */
static Size
step(void)
{
	return 64 + (is_old() ? 16 : 8);
}

static void
free_of_set(Size set, Size chunk)
{
	if (is_old())
		put(chunk - 8, 0);
	else
	{
		put(chunk, get(set + PLH_HEAP_SET_FREE_LISTS + 3 * 8));
		put(set + PLH_HEAP_SET_FREE_LISTS + 3 * 8, BASE + chunk - 8);
	}
}

/* A generation context, whose only block is its keeper, where it has one.  Returns where the first chunk begins. */
static Size
make_generation(Size parent, int chunks, int free_chunks)
{
	Size		at = used;
	Size		block = at + 160;
	Size		header = is_old() ? 24 : 8;
	Size		first = block + layout->generation_block_bytes;
	Size		end = first + chunks * (header + 40);

	used = end + 128;
	make_context(at, T_GenerationContext, parent,
				 used - (layout->generation_context_bytes == 0 ? at : block));
	put(at + layout->generation_blocks, BASE + block);
	put(at + layout->generation_blocks + 8, BASE + block);
	put(block, BASE + at + layout->generation_blocks);
	put(block + 8, BASE + at + layout->generation_blocks);
	put(block + layout->generation_block_size, used - block);
	put_half(block + layout->generation_block_free, free_chunks);
	put(block + layout->generation_block_used, BASE + end);
	put(block + layout->generation_block_used + 8, BASE + used);
	for (int i = 0; i < chunks; i++)
	{
		Size		chunk = first + i * (header + 40);

		if (is_old())
		{
			put(chunk, 40);
			put(chunk + 8, BASE + block);
			put(chunk + 16, i < free_chunks ? 0 : BASE + at);
		}
		else
			put(chunk, mask_of(PLH_HEAP_METHOD_GENERATION, 40, chunk, block));
	}
	return first + header;
}

/* A slab of four chunks of 32 bytes in one block, of which the second is free. */
static Size
make_slab(Size parent)
{
	Size		at = used;
	Size		block = at + 512;
	Size		header = is_old() ? 16 : 8;
	Size		stride = 32 + header;
	Size		first = block + layout->slab_block_bytes;
	Size		rings = at + layout->slab_blocks + (is_old() ? 0 : 24);
	Size		ring = rings + 16;
	Size		node = block + layout->slab_block_node;

	used = block + 1024;
	make_context(at, T_SlabContext, parent, 1024);
	if (is_old())
	{
		put(at + 88, stride);
		put(at + 96, 1024);
		put_half(at + 112, 4);
		put_half(block + 16, 1);
		put_half(block + 20, 1);
	}
	else
	{
		put_half(at + 84, stride);
		put_half(at + 88, 1024);
		put_half(at + 92, 4);
		put(at + layout->slab_blocks, BASE + at + layout->slab_blocks);
		put(at + layout->slab_blocks + 8, BASE + at + layout->slab_blocks);
		put(block, BASE + at);
		put_half(block + 8, 1);
		put(block + 16, BASE + first + stride);
	}
	for (int i = 0; i < (is_old() ? 5 : 3); i++)
	{
		put(rings + i * 16, BASE + rings + i * 16);
		put(rings + i * 16 + 8, BASE + rings + i * 16);
	}
	put(ring, BASE + node);
	put(ring + 8, BASE + node);
	put(node, BASE + ring);
	put(node + 8, BASE + ring);
	return first + header;
}

static void
make_root(uint64 word)
{
	put(ROOTS + 8 * root_count++, word);
}

/* What came of it. */
static PlhHeapContexts contexts;
static PlhHeapIndex index_of_chunks;
static PlhHeapMemory memory;
static int	found_count;

static void
count_found(void *arg, const PlhHeapFound *found)
{
	found_count++;
}

static void
begin(const PlhHeapLayout *layout_wanted)
{
	layout = layout_wanted;
	memset(bytes, 0, sizeof(bytes));
	used = 0;
	root_count = 0;
}

/* Returns false where the tree of contexts is not what it should be. */
static bool
look(void)
{
	static PlhHeapSegment segment;
	PlhHeapMark mark = {.found = count_found};

	segment = (PlhHeapSegment)
	{
		BASE, BASE + MEMORY_BYTES, bytes, "", 0, PLH_HEAP_ROOT
	};
	memory = (PlhHeapMemory)
	{
		&segment, 1, 1
	};
	found_count = 0;
	return plh_heap_index_start(&index_of_chunks, MEMORY_BYTES) &&
		plh_heap_contexts_walk(&contexts, layout, &memory, &index_of_chunks, BASE) &&
		plh_heap_mark_start(&mark, &contexts) && plh_heap_roots_mark(&mark, 0) != NULL;
}

/* Is a chunk lost?  One that is free, or that is none, is not. */
static bool
is_lost(Size chunk)
{
	const PlhHeapBlock *block = plh_heap_index_block(&index_of_chunks, BASE + chunk);
	PlhHeapChunk at;

	return block != NULL &&
		plh_heap_index_chunk(&index_of_chunks, block, BASE + chunk, &at) &&
		at.start == BASE + chunk && !plh_heap_index_is_found(&index_of_chunks, &at);
}

static bool
is_closed(int context)
{
	return contexts.list[context].flags & PLH_HEAP_CLOSED;
}

/* Pointers of all kinds, and none. */
static void
test_pointers(void)
{
	const char *broken = NULL;
	Size		first = make_set(0, 12);
	Size		far = step();

	make_root(BASE + first);
	put(first + 8, BASE + first + far + 30);	/* into the middle */
	put(first + far + 56, BASE + first + 2 * far + 64); /* to the end */
	make_root((BASE + first + 3 * far) | 7);	/* with low bits */
	make_root((BASE + first + 4 * far) | UINT64CONST(0xfff8) << 48);	/* with high bits */
	put(first + 5 * far, BASE + first + 6 * far);	/* a ring that nobody has */
	put(first + 6 * far, BASE + first + 5 * far);
	put(first + 7 * far, BASE + first + 8 * far);	/* by a free chunk */
	free_of_set(0, first + 7 * far);
	put(first + 7 * far + 8, BASE + first + 8 * far);
	make_root(BASE + first + 9 * far - 20); /* the end of the one before, or
											 * nothing */

	REQUIRE(broken, look() && !is_closed(0));
	REQUIRE(broken, !is_lost(first) && !is_lost(first + far) && !is_lost(first + 2 * far));
	REQUIRE(broken, !is_lost(first + 3 * far) && !is_lost(first + 4 * far));
	REQUIRE(broken, is_lost(first + 5 * far) && is_lost(first + 6 * far));
	REQUIRE(broken, !is_lost(first + 7 * far));
	REQUIRE(broken, is_lost(first + 9 * far) && is_lost(first + 11 * far));
	ok_unbroken(broken, "pointers of all kinds hold chunks, and rings and free chunks do not");
}

/* What is free, and what may be. */
static void
test_other_kinds(void)
{
	const char *broken = NULL;
	Size		set = make_set(0, 4);
	Size		generation = make_generation(0, 5, 0);
	Size		doubtful = make_generation(0, 5, 2);
	Size		slab = make_slab(0);
	Size		of_generation = 40 + (is_old() ? 24 : 8);
	Size		of_slab = 32 + (is_old() ? 16 : 8);

	make_root(BASE + generation + of_generation);
	make_root(BASE + slab + 3 * of_slab);
	REQUIRE(broken, look());
	for (int i = 0; i < 4; i++)
		REQUIRE(broken, !is_closed(i));
	REQUIRE(broken, is_lost(set + 3 * step()));
	REQUIRE(broken, is_lost(generation) && !is_lost(generation + of_generation));
	REQUIRE(broken, !is_lost(doubtful));
	REQUIRE(broken, is_lost(doubtful + 4 * of_generation) == is_old());
	REQUIRE(broken, is_lost(slab) && !is_lost(slab + of_slab) && is_lost(slab + 2 * of_slab));
	REQUIRE(broken, !is_lost(slab + 3 * of_slab));
	ok_unbroken(broken, "free chunks of each kind of context are not lost");
}

/* Headers of chunks that are samples, and of such as have no bytes. */
static void
test_headers(void)
{
	const char *broken = NULL;
	Size		set = make_set(0, 4);
	Size		generation = make_generation(0, 5, 0);
	Size		header = is_old() ? 24 : 8;
	Size		before = generation + 2 * (40 + header);
	Size		block = generation - header - layout->generation_block_bytes;

	/* the third chunk's bytes become its own, of 0, and the next one's */
	if (is_old())
	{
		put(before - 24, 0);
		put(before, 16);
		put(before + 8, BASE + block);
		put(before + 16, get(before - 8));
	}
	else
	{
		put(before - 8, mask_of(PLH_HEAP_METHOD_GENERATION, 0, before - 8, block));
		put(before, mask_of(PLH_HEAP_METHOD_GENERATION, 32, before, block));
		put(set - 8, get(set - 8) + layout->method_mark);
	}
	make_root(BASE + generation + 3 * (40 + header));
	REQUIRE(broken, look() && !is_closed(0) && !is_closed(1));
	REQUIRE(broken, is_lost(set) && is_lost(generation) && is_lost(before));
	REQUIRE(broken, is_lost(before + header));
	REQUIRE(broken, !is_lost(generation + 3 * (40 + header)));
	ok_unbroken(broken, "chunks that are samples are chunks, and those of 0 bytes, too");
}

/* Who has a context can free what is lost in it. */
static void
test_known_contexts(void)
{
	const char *broken = NULL;
	Size		top = make_set(0, 4);
	Size		known_at = used;
	Size		below;
	PlhHeapLasting lasting = {{BASE}};

	(void) make_set(0, 2);
	below = used;
	(void) make_set(known_at, 2);
	(void) make_set(0, 2);
	make_root(BASE + known_at);
	make_root(BASE);
	REQUIRE(broken, look() && contexts.count == 4);
	REQUIRE(broken, is_lost(top));
	for (uint32 i = 0; i < contexts.count; i++)
	{
		uintptr_t	address = contexts.list[i].address;

		REQUIRE(broken, plh_heap_known_is_resettable(&contexts, &lasting, i) ==
				(address == BASE + known_at || address == BASE + below));
	}
	ok_unbroken(broken, "a context can be reset whose address somebody has, and those below it");
}

/* Contexts below the first one, by what becomes of them. */
static void
test_lost_contexts(void)
{
	const char *broken = NULL;
	Size		lost_at;
	Size		above_at;
	PlhHeapLasting lasting = {{BASE}};

	(void) make_set(0, 1);
	lost_at = used;
	(void) make_set(0, 2);
	make_root(BASE + make_set(0, 2));
	above_at = used;
	(void) make_set(0, 1);
	make_root(BASE + make_set(above_at, 1));
	REQUIRE(broken, look() && contexts.count == 5);
	plh_heap_known_follow(&contexts);
	for (uint32 i = 0; i < contexts.count; i++)
		REQUIRE(broken, plh_heap_known_is_lost(&contexts, &lasting, i) ==
				(contexts.list[i].address == BASE + lost_at));
	ok_unbroken(broken, "a context is lost unless somebody has it, or a chunk in it or below it");
}

/* What is not as it must be holds all. */
static void
test_damage(void)
{
	const char *broken = NULL;
	Size		first = make_set(0, 4);
	Size		child_at = used;
	Size		child = make_set(0, 4);

	/*
	 * a chunk that the damaged context points to is held, though no chunk
	 * there is
	 */
	put(child + step(), BASE + first + step());
	put(child - (is_old() ? 16 : 8), is_old() ? 4096 : 0);
	REQUIRE(broken, look() && !is_closed(0) && is_closed(1));
	REQUIRE(broken, !is_lost(child) && !is_lost(first + step()) && is_lost(first));

	put(child_at + PLH_HEAP_PARENT, BASE + child_at);
	REQUIRE(broken, !look());
	put(child_at + PLH_HEAP_PARENT, BASE);
	put(child_at + PLH_HEAP_NEXT_CHILD, BASE + child_at);
	REQUIRE(broken, !look());
	put(child_at + PLH_HEAP_NEXT_CHILD, 4711);
	REQUIRE(broken, !look());
	ok_unbroken(broken, "a context that is damaged is closed, and its pointers hold");
}

/* A sum that is not what the context says, a list of free chunks that goes round. */
static void
test_sums(void)
{
	const char *broken = NULL;
	Size		first = make_set(0, 4);

	put(PLH_HEAP_MEM_ALLOCATED, get(PLH_HEAP_MEM_ALLOCATED) + 8);
	REQUIRE(broken, look() && is_closed(0) && !is_lost(first));
	put(PLH_HEAP_MEM_ALLOCATED, get(PLH_HEAP_MEM_ALLOCATED) - 8);
	REQUIRE(broken, look() && !is_closed(0) && is_lost(first));
	if (!is_old())
	{
		free_of_set(0, first);
		put(first, BASE + first - 8);
		REQUIRE(broken, look() && is_closed(0) && !is_lost(first + step()));
	}
	ok_unbroken(broken, "a context whose figures do not add up is closed");
}

/* Memory in several segments, as a copy of another process has it. */
static void
test_segments(void)
{
	const char *broken = NULL;
	PlhHeapSegment segments[] = {
		{BASE, BASE + 4096, bytes, "", 0, PLH_HEAP_ROOT},
		{BASE + 4096, BASE + 8192, bytes + 4096, "", 0, 0},
		{BASE + 8192, BASE + 12288, bytes + 16384, "", 0, PLH_HEAP_ROOT}
	};

	memory = (PlhHeapMemory)
	{
		segments, lengthof(segments), lengthof(segments)
	};
	REQUIRE(broken, plh_heap_memory_at(&memory, BASE + 4088, 16) == bytes + 4088);
	REQUIRE(broken, plh_heap_memory_at(&memory, BASE + 8184, 8) == bytes + 8184);
	REQUIRE(broken, plh_heap_memory_at(&memory, BASE + 8184, 16) == NULL);
	REQUIRE(broken, plh_heap_memory_at(&memory, BASE + 8192, 8) == bytes + 16384);
	REQUIRE(broken, plh_heap_memory_at(&memory, BASE + 12284, 8) == NULL);
	REQUIRE(broken, plh_heap_memory_root_bytes(&memory) == 8192);
	ok_unbroken(broken, "segments side by side are one memory if their bytes are, too");
}

/* The tags of servers other than this one, and of this one, which has to be right. */
static void
test_layouts(void)
{
	const char *broken = NULL;
	PlhHeapLayout read;

	REQUIRE(broken, plh_heap_layout_read(&read, PG_VERSION_NUM, T_AllocSetContext));
	REQUIRE(broken, memcmp(read.tags, plh_heap_layout_of(PG_VERSION_NUM)->tags,
						   sizeof(read.tags)) == 0);
	REQUIRE(broken, plh_heap_layout_read(&read, 140000, 570));
	REQUIRE(broken, read.tags[PLH_HEAP_SLAB] == 571 && read.tags[PLH_HEAP_GENERATION] == 572 &&
			read.tags[PLH_HEAP_BUMP] == 0);
	REQUIRE(broken, plh_heap_layout_read(&read, 170000, 450));
	REQUIRE(broken, read.tags[PLH_HEAP_GENERATION] == 451 && read.tags[PLH_HEAP_SLAB] == 452 &&
			read.tags[PLH_HEAP_BUMP] == 453);
	REQUIRE(broken, !plh_heap_layout_read(&read, 120000, 570));
	REQUIRE(broken, !plh_heap_layout_read(&read, 200000, 570));
	REQUIRE(broken, !plh_heap_layout_read(&read, 160000, 0));
	ok_unbroken(broken, "kinds of contexts are known of other servers by the tag of one");
}

void
test_heap(void)
{
	static const int versions[] = {130000, 150000, 160000, 170000};

	for (int i = 0; i < lengthof(versions); i++)
	{
		void		(*const tests[]) (void) = {
			test_pointers, test_other_kinds, test_headers, test_known_contexts,
			test_lost_contexts, test_damage, test_sums
		};

		for (int test = 0; test < lengthof(tests); test++)
		{
			begin(plh_heap_layout_of(versions[i]));
			tests[test] ();
		}
	}
	begin(plh_heap_layout_of(PG_VERSION_NUM));
	test_segments();
	test_layouts();
}
