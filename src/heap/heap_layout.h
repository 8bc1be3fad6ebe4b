/*
 * heap_layout.h
 *	  What memory contexts, their blocks and chunks look like, by version of PostgreSQL.
 *
 * Nothing of this is trusted: each context proves its layout as it is walked (heap_contexts.c).
 * A server that was built with assertions or for Valgrind has other layouts, and is refused.
 */
#pragma once

typedef enum PlhHeapKind
{
	PLH_HEAP_ALLOC_SET,
	PLH_HEAP_GENERATION,
	PLH_HEAP_SLAB,
	PLH_HEAP_BUMP,
	PLH_HEAP_KINDS				/* also: any other */
} PlhHeapKind;

/* Offsets in MemoryContextData, the same in 13 to 19. */
#define PLH_HEAP_MEM_ALLOCATED 8
#define PLH_HEAP_PARENT 24
#define PLH_HEAP_FIRST_CHILD 32
#define PLH_HEAP_PREVIOUS_CHILD 40
#define PLH_HEAP_NEXT_CHILD 48
#define PLH_HEAP_NAME 56
#define PLH_HEAP_IDENT 64
#define PLH_HEAP_RESET_CALLBACKS 72
#define PLH_HEAP_CONTEXT_BYTES 80

/* The blocks of an AllocSet are a list, those of the others a ring, by the offset of its head. */
#define PLH_HEAP_SET_BLOCKS 80
#define PLH_HEAP_SET_FREE_LISTS 88
#define PLH_HEAP_SET_FREE_LIST_COUNT 11

/* An AllocSet's block. */
#define PLH_HEAP_SET_BLOCK_SET 0
#define PLH_HEAP_SET_BLOCK_PREVIOUS 8
#define PLH_HEAP_SET_BLOCK_NEXT 16
#define PLH_HEAP_SET_BLOCK_USED 24
#define PLH_HEAP_SET_BLOCK_END 32
#define PLH_HEAP_SET_BLOCK_BYTES 40

/* A keeper block begins within this of its context. */
#define PLH_HEAP_KEEPER_WITHIN 512

/* The header of a chunk from 16 on: kind of context, size, and offset in its block. */
#define PLH_HEAP_CHUNK_METHOD(mask, layout) ((mask) & ((1 << (layout)->method_bits) - 1))
#define PLH_HEAP_CHUNK_IS_EXTERNAL(mask, layout) ((mask) >> (layout)->method_bits & 1)
#define PLH_HEAP_CHUNK_VALUE(mask, layout) ((mask) >> ((layout)->method_bits + 1) & 0x3FFFFFFF)
#define PLH_HEAP_CHUNK_OFFSET(mask) ((mask) >> 34 & 0x3FFFFFF8)
#define PLH_HEAP_METHOD_ALLOC_SET 3
#define PLH_HEAP_METHOD_GENERATION 4
#define PLH_HEAP_METHOD_SLAB 5

/* From 17 on, a chunk that is a sample has a method of its own, that much above. */
#define PLH_HEAP_METHOD_MARK 5

typedef struct PlhHeapLayout
{
	int			major;			/* version of PostgreSQL */
	uint32		tags[PLH_HEAP_KINDS];	/* NodeTag of each kind; 0: there is
										 * none */
	int			method_bits;	/* 0: chunks point to their contexts */
	int			method_mark;	/* may be added to a chunk's method; 0:
								 * nothing */

	/* a generation context and its blocks */
	uint16		generation_blocks;
	uint16		generation_context_bytes;	/* 0: it has a block of its own */
	uint16		generation_block_size;
	uint16		generation_block_free;	/* number of chunks that are */
	uint16		generation_block_used;
	uint16		generation_block_bytes;

	/* a slab, its blocks, which are in several rings, and their free chunks */
	uint16		slab_blocks;
	uint16		slab_block_node;
	uint16		slab_block_bytes;

	/* a bump context and its blocks */
	uint16		bump_blocks;
} PlhHeapLayout;

/* That of a version; NULL: it is not known. */
extern const PlhHeapLayout *plh_heap_layout_of(int version_num);

/* The last version whose layout was looked at. */
#define PLH_HEAP_LAST_MAJOR 19

/*
 * That of another server than this code was built for, which has other NodeTags: that of an
 * AllocSet is told, the others follow it.  Returns false if the version is not known.
 */
extern bool plh_heap_layout_read(PlhHeapLayout *layout, int version_num, uint32 set_tag);
