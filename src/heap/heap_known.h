/*
 * heap_known.h
 *	  Which contexts somebody can reset or delete, by their address or that of one above, and which
 *	  are lost as a whole.
 *
 * The session's own contexts are known to all and reset by nobody, so that what is lost in them
 * stays.
 */
#pragma once

#include "heap/heap_contexts.h"

/* Addresses of contexts that end with the session only. */
typedef struct PlhHeapLasting
{
	uintptr_t	contexts[4];	/* 0: none */
} PlhHeapLasting;

extern bool plh_heap_known_is_resettable(const PlhHeapContexts *contexts,
										 const PlhHeapLasting *lasting, uint32 number);

/* Once all is marked: a context that is in use leads to those above it. */
extern void plh_heap_known_follow(PlhHeapContexts *contexts);

/* After that: can nobody use, reset or delete the context, nor what is in it? */
extern bool plh_heap_known_is_lost(const PlhHeapContexts *contexts,
								   const PlhHeapLasting *lasting, uint32 number);
