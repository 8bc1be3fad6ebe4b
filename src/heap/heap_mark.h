/*
 * heap_mark.h
 *	  Finds all chunks that can be reached, root by root.
 *
 * A word is a pointer if, without its lowest and highest bits, it lies in a chunk or at its end:
 * pointers into the middle of a chunk hold it, and those that languages tag.
 */
#pragma once

#include "heap/heap_contexts.h"

/* A chunk was found: from that root, by a word of that chunk, or by the root itself (0). */
typedef struct PlhHeapFound
{
	const PlhHeapChunk *chunk;
	uint32		root;
	uintptr_t	first;			/* the chunk that the root points to */
	uintptr_t	from;			/* the chunk that points to it; 0: the root
								 * does */
} PlhHeapFound;

typedef struct PlhHeapMark
{
	PlhHeapContexts *contexts;
	PlhHeapIndex *index;
	uintptr_t  *waiting;		/* chunks whose words were not looked at yet */
	Size		waiting_count;
	Size		waiting_room;
	bool		has_overflowed; /* some had no room there */
	uintptr_t	observer;		/* a variable of the library that looks, which
								 * notes contexts and does nothing to them */
	bool		is_observer;	/* its variables are looked at */
	bool		is_following;
	bool		is_at_work;		/* with what a root points to */
	bool		has_failed;		/* a chunk could not be read */
	uint64		unreadable_pages;	/* of roots: nobody can read them */
	void		(*found) (void *arg, const PlhHeapFound *found);
	uint32		(*root_of) (void *arg, uintptr_t word); /* number of the root at
														 * that place */
	void	   *arg;
} PlhHeapMark;

/* Returns false without room. */
extern bool plh_heap_mark_start(PlhHeapMark *mark, PlhHeapContexts *contexts);

/*
 * Find what words of a range point to, and all that can be reached from there.  Of code, look at
 * each byte.  The range may have pages that can't be read.
 */
extern void plh_heap_mark_range(PlhHeapMark *mark, uintptr_t from, const char *bytes, Size length,
								bool at_each_byte);

/* Find what one word points to, which stands at that place. */
extern void plh_heap_mark_word(PlhHeapMark *mark, uintptr_t place, uint64 word);
