/*
 * heap_roots.h
 *	  What holds memory by itself: variables, stacks, headers of contexts, and all that is unknown.
 *
 * Roots are looked at in this order, so that a chunk is the first named root's that leads to it.
 */
#pragma once

#include "heap/heap_mark.h"

typedef enum PlhHeapRootKind
{
	PLH_HEAP_BY_VARIABLE,		/* of a binary */
	PLH_HEAP_BY_CONTEXT,		/* the header of a context, as by a callback */
	PLH_HEAP_BY_STACK,
	PLH_HEAP_BY_OTHER,			/* private memory that is not understood */
	PLH_HEAP_BY_CODE,			/* compiled at run time */
	PLH_HEAP_BY_CLOSED,			/* chunks of contexts that are not understood */
	PLH_HEAP_ROOT_KINDS
} PlhHeapRootKind;

typedef struct PlhHeapRoot
{
	PlhHeapRootKind kind;
	uint32		context;		/* number, of a header */
	uintptr_t	address;		/* of the variable, or of its word; 0: of all
								 * others */
	const char *path;			/* of its binary */
	const char *name;			/* of the variable; NULL: it has none */
	int64		chunks;			/* that were found from here first */
	int64		bytes;
} PlhHeapRoot;

typedef struct PlhHeapRoots PlhHeapRoots;

/*
 * Mark all that can be reached.  The stack counts from that address on.  "mark" has been started;
 * its "found" is called with the numbers of roots.  NULL: there was no room, or memory could not be
 * read.
 */
extern PlhHeapRoots *plh_heap_roots_mark(PlhHeapMark *mark, uintptr_t stack);

extern const PlhHeapRoot *plh_heap_roots_at(const PlhHeapRoots *roots, uint32 number);
