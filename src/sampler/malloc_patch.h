/*
 * malloc_patch.h
 *	  Puts shorter code in the place of the preloaded library's malloc and free.
 *
 * Called when pg_leakhunt is loaded, never inside palloc.  Nothing here pallocs or
 * throws.
 */
#ifndef PLH_MALLOC_PATCH_H
#define PLH_MALLOC_PATCH_H

#include "preload/malloc_hook.h"

extern void plh_malloc_patch_install(const PlhMallocHook *hook);

#endif							/* PLH_MALLOC_PATCH_H */
