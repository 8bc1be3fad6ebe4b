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

/* NULL: nothing is known. */
extern const PlhFamily *plh_site_family(const PlhStackText *stack);

/* "flags" tell which caches: PLH_FUNCTION_BOUNDED_CACHE, PLH_FUNCTION_CATALOG_CACHE. */
extern bool plh_site_family_is_cache(const PlhStackText *stack, int flags);
