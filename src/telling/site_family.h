/*
 * site_family.h
 *	  What is known of a call site by the functions of the server that it lies in.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/family.h"
#include "report/stack_text.h"
#include "stack/allocation_wrappers.h"

/* Is a frame in the server itself, and not in a library? */
extern bool plh_site_family_is_of_server(const PlhFrameText *frame);

/* NULL: nothing is known. */
extern const PlhFamily *plh_site_family(const PlhStackText *stack);

/* "flags" tell which caches: PLH_FUNCTION_BOUNDED_CACHE, PLH_FUNCTION_CATALOG_CACHE. */
extern bool plh_site_family_is_cache(const PlhStackText *stack, int flags);

/*
 * Does it fill a cache of the server in contexts of that name?  That is known by functions, or,
 * where the one that allocates has no name, by where it allocates.
 */
extern bool plh_site_family_fills_cache(const PlhStackText *stack, const char *context_name);
