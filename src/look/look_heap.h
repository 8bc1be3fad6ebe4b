/*
 * look_heap.h
 *	  The memory contexts of a process that was copied: their statistics as a text, what of them is
 *	  lost, and who holds the rest.
 *
 * The text is that of pg_log_backend_memory_contexts, so that whoever reads logs reads it, too; but
 * all contexts are in it.
 */
#pragma once

#include "heap/heap_contexts.h"
#include "look/look_server.h"
#include "profile/proof_layout.h"
#include "statistics/log_reading.h"

typedef struct PlhLookHeap
{
	PlhLookCopy copy;
	PlhLookServer server;
	PlhHeapIndex index;
	PlhHeapContexts contexts;
	PlhProofMalloc malloc;
	int64		malloc_bytes;	/* of blocks outside of contexts, where proven */
	const PlhProof *proof;
	bool		is_sampled;		/* pg_leakhunt is loaded there, and has notes */
} PlhLookHeap;

/*
 * Copy the memory of a process, and walk its contexts.  It may be in the middle of changing one:
 * then it is looked at again.  An error says why it can't be looked at.
 */
extern void plh_look_heap_walk(PlhLookHeap *heap, int pid, bool stops);

/* The same of a core file; "binary" is the server's program, NULL: where it was. */
extern void plh_look_heap_walk_core(PlhLookHeap *heap, const char *file, const char *binary);

/* Hand the statistics of its contexts on.  Comes before the next. */
extern void plh_look_heap_read(PlhLookHeap *heap, PlhLogReading *reading);

/* Find what is lost, and who holds the rest. */
extern void plh_look_heap_prove(PlhLookHeap *heap);
