/*
 * heap_tree.h
 *	  The memory contexts of a process as they were found: a tree, by numbers.
 */
#pragma once

#include "heap/heap_index.h"
#include "heap/heap_layout.h"
#include "heap/heap_memory.h"

#define PLH_HEAP_NO_CONTEXT PG_UINT32_MAX

/* What is known of a context. */
#define PLH_HEAP_CLOSED 0x1		/* it is not what its layout says: all in it
								 * is held */
#define PLH_HEAP_KNOWN 0x2		/* somebody has its address */
#define PLH_HEAP_USED 0x4		/* a chunk of it was found */
#define PLH_HEAP_NAMED 0x8		/* its header was looked at */
#define PLH_HEAP_MALLOC 0x10	/* it is none: its chunks are malloc's blocks */
#define PLH_HEAP_LED_TO 0x20	/* one below it is in use, and leads to it */

typedef struct PlhHeapContext
{
	uintptr_t	address;
	uintptr_t	name;			/* of a text */
	uintptr_t	ident;			/* likewise; 0: none */
	Size		bytes;			/* as it says itself */
	uint32		parent;			/* number; the first has none */
	uint16		kind;			/* PlhHeapKind */
	uint16		flags;
} PlhHeapContext;

typedef struct PlhHeapContexts
{
	PlhHeapContext *list;		/* parents before their children */
	uint32		count;
	uint32		room;
	const PlhHeapLayout *layout;
	PlhHeapMemory *memory;
	PlhHeapIndex *index;
} PlhHeapContexts;
