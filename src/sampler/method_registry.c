/*
 * method_registry.c
 *	  The server's own function by which a module replaces memory context methods.
 *
 * It is looked for by its name when the module is loaded, so that one build serves servers that
 * have it and servers that have not.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "miscadmin.h"

#include "sampler/method_registry.h"

#if PLH_METHODS_CAN_BE_REGISTERED
typedef void (*RegisterMethods) (MemoryContextMethodID id, const MemoryContextMethods *methods,
								 MemoryContextMethods *previous);

/* Returns NULL where the server has no such function. */
static RegisterMethods
find_function(void)
{
	return (RegisterMethods) dlsym(RTLD_DEFAULT, "RegisterMemoryContextMethods");
}

/* The row is copied.  What was there, the caller has read already. */
void
plh_method_registry_set(MemoryContextMethodID id, const MemoryContextMethods *row)
{
	MemoryContextMethods previous;

	find_function() (id, row, &previous);
}
#endif

/* Does the server take rows of methods now?  It does so while it preloads libraries. */
bool
plh_method_registry_is_open(void)
{
#if PLH_METHODS_CAN_BE_REGISTERED
	return process_shared_preload_libraries_in_progress && find_function() != NULL;
#else
	return false;
#endif
}
