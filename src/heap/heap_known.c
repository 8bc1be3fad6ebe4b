/*
 * heap_known.c
 *	  Which contexts somebody can reset or delete, by their address or that of one above.
 */
#include "postgres.h"

#include "heap/heap_known.h"

static bool
is_lasting(const PlhHeapLasting *lasting, uintptr_t address)
{
	for (int i = 0; i < lengthof(lasting->contexts); i++)
		if (lasting->contexts[i] == address)
			return true;
	return false;
}

bool
plh_heap_known_is_resettable(const PlhHeapContexts *contexts, const PlhHeapLasting *lasting,
							 uint32 number)
{
	for (; number != PLH_HEAP_NO_CONTEXT; number = contexts->list[number].parent)
	{
		const PlhHeapContext *context = &contexts->list[number];

		if (is_lasting(lasting, context->address))
			return false;
		if (context->flags & PLH_HEAP_KNOWN)
			return true;
	}
	return false;
}
