/*
 * heap_known.h
 *	  Which contexts somebody can reset or delete, by their address or that of one above.
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
