/*
 * heap_kinds.h
 *	  What a chunk looks like, by its bytes: a guess where nothing proves it.
 */
#pragma once

#include "heap/heap_contexts.h"

typedef enum PlhHeapChunkKind
{
	PLH_HEAP_CHUNK_OTHER,
	PLH_HEAP_CHUNK_ZEROS,
	PLH_HEAP_CHUNK_TEXT,		/* printable from its start to a NUL or its
								 * end */
	PLH_HEAP_CHUNK_LIST,		/* a List of the server's, proven */
	PLH_HEAP_CHUNK_HASH_TABLE,	/* a hash table of the server's (dynahash),
								 * proven */
	PLH_HEAP_CHUNK_NODE,		/* begins like a node of the server's, by its
								 * tag */
	PLH_HEAP_CHUNK_FUNCTION,	/* begins with the address of code */
	PLH_HEAP_NO_CHUNK			/* a memory context itself, with all in it
								 * that is no chunk in use */
} PlhHeapChunkKind;

typedef struct PlhHeapLook
{
	PlhHeapChunkKind kind;
	uint32		tag;			/* of a node or list */
	const char *text;			/* of a text, or a hash table's name; not
								 * ended */
	Size		text_bytes;
} PlhHeapLook;

/* NodeTags of lists, and the first that is of none. */
typedef struct PlhHeapTags
{
	uint32		lists[4];
	uint32		end;
} PlhHeapTags;

extern PlhHeapLook plh_heap_kinds_look(const PlhHeapContexts *contexts, const PlhHeapTags *tags,
									   const PlhHeapChunk *chunk);
