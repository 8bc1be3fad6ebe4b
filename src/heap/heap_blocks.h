/*
 * heap_blocks.h
 *	  Reads the blocks and chunks of one memory context, of each kind that there is.
 */
#pragma once

#include "heap/heap_tree.h"

/* Add its blocks and chunks to the index.  Returns false where they are not what they must be. */
extern bool plh_heap_blocks_walk(PlhHeapContexts *contexts, uint32 number);

/* Free chunks that only a list tells.  Called once the index is searchable. */
extern bool plh_heap_blocks_take_free(PlhHeapContexts *contexts, uint32 number);
