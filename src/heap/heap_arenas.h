/*
 * heap_arenas.h
 *	  The arenas of glibc's malloc in a process, found without symbols.
 *
 * glibc does not export where they are.  The first one lies among libc's variables, and is known
 * by its bins: rings, each of which begins and ends at itself.  The others are linked to it.
 */
#pragma once

#include "heap/heap_memory.h"

/* glibc has 8 for each processor at most, unless it is told to have more. */
#define PLH_HEAP_ARENAS 1024

/* Free blocks of one size in a list, which are not merged with others. */
#define PLH_HEAP_FAST_BINS 10

typedef struct PlhHeapArena
{
	uintptr_t	address;
	uintptr_t	top;			/* the chunk that reaches to its end */
	Size		system_bytes;	/* that it has of the system */
} PlhHeapArena;

typedef struct PlhHeapArenas
{
	PlhHeapArena list[PLH_HEAP_ARENAS]; /* the main one first */
	uint32		count;
	Size		arena_bytes;	/* that the description of each takes */
	Size		fast_bins;		/* offset in it; 0: there are none */
	uintptr_t	main_start;		/* where the main one's memory begins */
	uint64		mapped_bytes;	/* of blocks that are mappings of their own */
	uint32		mapped_counts[2];	/* their number is one of these */
	uintptr_t	counts;			/* where all that is counted */
	uintptr_t	counts_end;
} PlhHeapArenas;

/* Returns false where they are not what they must be. */
extern bool plh_heap_arenas_find(PlhHeapArenas *arenas, PlhHeapMemory *memory);
