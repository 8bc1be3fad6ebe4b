/*
 * heap.h
 *	  The memory that the search itself takes, none of which is given back.
 */
#pragma once

typedef struct PlhHeapRegion
{
	uintptr_t	from;
	uintptr_t	to;
}			PlhHeapRegion;

/* What was reserved so far, by numbers from 0 on; NULL: there is no further one. */
extern const PlhHeapRegion *plh_heap_region(int number);

/* Address space that takes memory where it is written to, zeros at first; NULL: there is none. */
extern void *plh_heap_reserve(Size bytes);
