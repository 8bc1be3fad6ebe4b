/*
 * core_cache.h
 *	  Whether a stack is that of one of the server's own caches.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/stack_text.h"
#include "stack/allocation_wrappers.h"

/* "flags" tell which caches: PLH_FUNCTION_BOUNDED_CACHE, PLH_FUNCTION_CATALOG_CACHE. */
extern bool plh_core_cache_has(const PlhStackText *stack, int flags);
