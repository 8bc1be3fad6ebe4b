/*
 * heap_malloc_lists.h
 *	  Free blocks of malloc that look like ones in use, as they wait in lists to be given out again.
 */
#pragma once

#include "heap/heap_arenas.h"
#include "heap/heap_contexts.h"

/*
 * Take these blocks as free: those that the thread keeps, whose variables are near that address,
 * and those in fast bins.  The context is that of malloc's blocks; the index is searchable.
 * Returns false where lists are not what they must be, or can't be found.
 */
extern bool plh_heap_malloc_lists_take(PlhHeapContexts *contexts, uint32 context,
									   const PlhHeapArenas *arenas, uintptr_t thread);
