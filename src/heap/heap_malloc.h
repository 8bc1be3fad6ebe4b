/*
 * heap_malloc.h
 *	  The blocks of glibc's malloc, as chunks of the index.
 *
 * What malloc has given out is a chunk like those of contexts: it holds what it points to if it
 * can be reached itself, and is lost if it can't.  What was freed holds nothing.  Blocks of
 * contexts stay what they are.
 *
 * Nothing of this is trusted.  An arena has proven itself if its blocks lie one behind the other
 * from its start to its end, agree with each other on which of them are free, and add up to what
 * it says of itself; blocks that are mappings, if these add up; the blocks that the thread keeps
 * for later, which look like ones in use, if each list has what it counts.  What is not proven is
 * memory that is not understood, a root as a whole.
 *
 * It is for a process that has one thread only: others may be in the middle of malloc, have
 * blocks in lists of their own, and pointers in registers that nobody knows.
 */
#pragma once

#include "heap/heap_contexts.h"

typedef enum PlhHeapMallocState
{
	PLH_HEAP_MALLOC_PROVEN,
	PLH_HEAP_MALLOC_UNKNOWN,	/* it is not understood: all of it is held */
	PLH_HEAP_MALLOC_NO_ROOM		/* the index can't be used any more */
} PlhHeapMallocState;

/*
 * Add them to the index, which is searchable, with a context of their own (PLH_HEAP_MALLOC) in
 * the list.  "thread" is an address within the memory of the thread, near its variables.
 */
extern PlhHeapMallocState plh_heap_malloc_walk(PlhHeapContexts *contexts, uintptr_t thread);
