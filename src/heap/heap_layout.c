/*
 * heap_layout.c
 *	  What memory contexts look like, by version of PostgreSQL.
 */
#include "postgres.h"

#include "nodes/nodes.h"

#include "base/compat.h"
#include "heap/heap_layout.h"

/* NodeTags differ from version to version: those of this server. */
#define OWN_TAGS {T_AllocSetContext, T_GenerationContext, T_SlabContext, PLH_BUMP_TAG}

/* A generation context of 13 and 14 lies by itself, in front of no block. */
static const PlhHeapLayout layout_13 = {
	.major = 13,.tags = OWN_TAGS,
	.generation_blocks = 96,.generation_context_bytes = 112,.generation_block_size = 16,
	.generation_block_free = 28,.generation_block_used = 32,.generation_block_bytes = 48,
	.slab_blocks = 128,.slab_block_node = 0,.slab_block_bytes = 24
};

static const PlhHeapLayout layout_15 = {
	.major = 15,.tags = OWN_TAGS,
	.generation_blocks = 136,.generation_block_size = 16,.generation_block_free = 28,
	.generation_block_used = 32,.generation_block_bytes = 48,
	.slab_blocks = 128,.slab_block_node = 0,.slab_block_bytes = 24
};

static const PlhHeapLayout layout_16 = {
	.major = 16,.tags = OWN_TAGS,.method_bits = 3,
	.generation_blocks = 136,.generation_block_size = 24,.generation_block_free = 36,
	.generation_block_used = 40,.generation_block_bytes = 56,
	.slab_blocks = 104,.slab_block_node = 32,.slab_block_bytes = 48
};

static const PlhHeapLayout layout_17 = {
	.major = 17,.tags = OWN_TAGS,.method_bits = 4,.method_mark = PLH_HEAP_METHOD_MARK,
	.generation_blocks = 112,.generation_block_size = 24,.generation_block_free = 36,
	.generation_block_used = 40,.generation_block_bytes = 56,
	.slab_blocks = 104,.slab_block_node = 32,.slab_block_bytes = 48,
	.bump_blocks = 96
};

const PlhHeapLayout *
plh_heap_layout_of(int version_num)
{
	switch (version_num / 10000)
	{
		case 13:
		case 14:
			return &layout_13;
		case 15:
			return &layout_15;
		case 16:
			return &layout_16;
		default:
			return version_num / 10000 >= 17 ? &layout_17 : NULL;
	}
}

/* The kinds in the order of their tags: until 15, and since. */
static const PlhHeapKind orders[2][PLH_HEAP_KINDS] = {
	{PLH_HEAP_ALLOC_SET, PLH_HEAP_SLAB, PLH_HEAP_GENERATION, PLH_HEAP_KINDS},
	{PLH_HEAP_ALLOC_SET, PLH_HEAP_GENERATION, PLH_HEAP_SLAB, PLH_HEAP_BUMP}
};

bool
plh_heap_layout_read(PlhHeapLayout *layout, int version_num, uint32 set_tag)
{
	const PlhHeapLayout *known = plh_heap_layout_of(version_num);

	if (known == NULL || version_num / 10000 > PLH_HEAP_LAST_MAJOR || set_tag == 0)
		return false;
	*layout = *known;
	memset(layout->tags, 0, sizeof(layout->tags));
	for (int i = 0; i < PLH_HEAP_KINDS; i++)
	{
		PlhHeapKind kind = orders[known->major >= 16][i];

		/* a kind that the version has not is no tag of it */
		if (kind != PLH_HEAP_KINDS && (kind != PLH_HEAP_BUMP || known->bump_blocks != 0))
			layout->tags[kind] = set_tag + i;
	}
	return true;
}
