/*
 * heap_contexts.h
 *	  Finds the memory contexts of a process, their blocks and their chunks.
 */
#pragma once

#include "heap/heap_tree.h"

/*
 * Walk the tree from its root downward, and fill the index.  Returns false where the tree itself is
 * not what it should be.
 */
extern bool plh_heap_contexts_walk(PlhHeapContexts *contexts, const PlhHeapLayout *layout,
								   PlhHeapMemory *memory, PlhHeapIndex *index, uintptr_t top);

/* All of a context is held, though it is in the index, which is searchable. */
extern void plh_heap_contexts_hold_all(PlhHeapContexts *contexts, uint32 number);

/* The context at that address; NULL: there is none. */
extern PlhHeapContext *plh_heap_contexts_at(const PlhHeapContexts *contexts, uintptr_t address);
