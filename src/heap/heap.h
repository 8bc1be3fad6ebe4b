/*
 * heap.h
 *	  The memory that the search itself takes, none of which is given back.
 */
#pragma once

/* Address space that takes memory where it is written to, zeros at first; NULL: there is none. */
extern void *plh_heap_reserve(Size bytes);
