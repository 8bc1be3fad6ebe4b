/*
 * heap_memory.h
 *	  The memory of a process as a source of words: this process' own, or a copy of another's.
 *
 * A segment is a range of addresses whose bytes are at hand.  Nothing here calls the server, malloc
 * or stdio: it runs in a process that was forked in the middle of whatever its parent did.
 */
#pragma once

#include "base/mappings.h"

/* What a segment is. */
#define PLH_HEAP_ROOT 0x1		/* private and written to: what it points to
								 * is held */
#define PLH_HEAP_CODE 0x2		/* compiled at run time: has addresses at any
								 * byte */
#define PLH_HEAP_STACK 0x4		/* of the main thread */
#define PLH_HEAP_FILE 0x8		/* of a binary: its variables */
#define PLH_HEAP_RUNS 0x10		/* its code */

typedef struct PlhHeapSegment
{
	uintptr_t	start;
	uintptr_t	end;
	const char *bytes;			/* where those of the start are */
	const char *path;			/* empty: of no file */
	uint64		file_offset;
	uint32		flags;
} PlhHeapSegment;

typedef struct PlhHeapMemory
{
	PlhHeapSegment *segments;	/* by address */
	uint32		count;
	uint32		room;
	uint32		last;			/* that was looked at */
} PlhHeapMemory;

/* This process' own segments.  Returns false if they can't be listed. */
extern bool plh_heap_memory_own(PlhHeapMemory *memory);

/* For other sources of words: does a mapping count, and what is a segment of it? */
extern bool plh_heap_memory_counts(const PlhMapping *mapping);
extern uint32 plh_heap_memory_flags(const PlhMapping *mapping);

/* What lies in a range holds nothing, though it can be read. */
extern bool plh_heap_memory_exclude(PlhHeapMemory *memory, uintptr_t from, uintptr_t to);

/* Where these bytes are at hand; NULL: they are not. */
extern const void *plh_heap_memory_at(PlhHeapMemory *memory, uintptr_t address, Size bytes);

/* Does a segment end at that address? */
extern bool plh_heap_memory_ends_at(PlhHeapMemory *memory, uintptr_t address);

/* Copy a text, up to its end or that of the room.  Returns false if it can't be read. */
extern bool plh_heap_memory_text(PlhHeapMemory *memory, uintptr_t address, char *text, Size room);

/* The bytes of all that are roots. */
extern Size plh_heap_memory_root_bytes(const PlhHeapMemory *memory);
