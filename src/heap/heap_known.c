/*
 * heap_known.c
 *	  Which contexts somebody can reset or delete, by their address or that of one above, and which
 *	  are lost as a whole.
 */
#include "postgres.h"

#include "heap/heap_known.h"

/* Somebody has it, or something in it; of one that is closed that is not known. */
#define IN_USE (PLH_HEAP_KNOWN | PLH_HEAP_USED | PLH_HEAP_LED_TO | PLH_HEAP_CLOSED)

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

/* Parents come before their children. */
void
plh_heap_known_follow(PlhHeapContexts *contexts)
{
	for (uint32 i = contexts->count; i-- > 0;)
	{
		const PlhHeapContext *context = &contexts->list[i];

		if (context->flags & IN_USE && context->parent != PLH_HEAP_NO_CONTEXT)
			contexts->list[context->parent].flags |= PLH_HEAP_LED_TO;
	}
}

bool
plh_heap_known_is_lost(const PlhHeapContexts *contexts, const PlhHeapLasting *lasting,
					   uint32 number)
{
	return !(contexts->list[number].flags & (IN_USE | PLH_HEAP_MALLOC)) &&
		!is_lasting(lasting, contexts->list[number].address) &&
		!plh_heap_known_is_resettable(contexts, lasting, number);
}
