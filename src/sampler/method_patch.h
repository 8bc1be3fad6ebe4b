/*
 * method_patch.h
 *	  Puts functions of ours in the place of memory context methods.
 *
 * These functions are called when pg_leakhunt is loaded, never inside palloc.
 * plh_method_patch_find creates and deletes memory contexts, and may throw "out of memory";
 * plh_method_patch_install must follow.
 */
#pragma once

#include "nodes/memnodes.h"

#include "base/compat.h"

/* The hooked types of contexts. */
typedef enum PlhContextType
{
	PLH_ALLOCSET,
	PLH_GENERATION,
	PLH_SLAB,
#if PLH_HAVE_BUMP
	PLH_BUMP,
#endif
	PLH_CONTEXT_TYPES			/* number of types, must be last */
} PlhContextType;

/*
 * The hooked methods of a type, of which those that are not hooked are NULL.  Where chunks are
 * marked, free_p is called for marked chunks only.
 */
typedef struct PlhMethods
{
	void	   *(*alloc) (PLH_ALLOC_PARAMETERS);
	void		(*free_p) (PLH_FREE_PARAMETERS);
	void	   *(*realloc) (PLH_REALLOC_PARAMETERS);
} PlhMethods;

/* Both have an array of PLH_CONTEXT_TYPES. */
extern const char *plh_method_patch_find(PlhMethods *originals);
extern const char *plh_method_patch_install(const PlhMethods *hooks);
