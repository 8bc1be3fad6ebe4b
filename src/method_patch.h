/*
 * method_patch.h
 *	  Puts functions of ours in the place of memory context methods.
 *
 * Called when the module is loaded, never inside palloc.
 * Installing creates and deletes memory contexts, and may throw out of memory
 * before it has changed anything.
 */
#ifndef PLH_METHOD_PATCH_H
#define PLH_METHOD_PATCH_H

#include "nodes/memnodes.h"

/* The context types that are hooked. */
typedef enum PlhContextType
{
	PLH_ALLOCSET,
	PLH_GENERATION,
	PLH_SLAB
#define PLH_CONTEXT_TYPES (PLH_SLAB + 1)
} PlhContextType;

/* The methods that are hooked, of each type. */
typedef struct PlhMethods
{
	void	   *(*alloc) (MemoryContext context, Size size);
	void		(*free_p) (MemoryContext context, void *pointer);
	void	   *(*realloc) (MemoryContext context, void *pointer, Size size);
} PlhMethods;

extern const char *plh_method_patch_install(const PlhMethods *hooks,
											PlhMethods *originals);

#endif							/* PLH_METHOD_PATCH_H */
