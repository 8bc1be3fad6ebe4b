/*
 * core_cache.c
 *	  Whether a stack is that of one of the server's own caches.
 */
#include "postgres.h"

#include "telling/core_cache.h"

/*
 * Does this stack belong to a cache or table of the server?  One that leads into code from outside
 * of the server before does not.
 */
bool
plh_core_cache_has(const PlhStackText *stack, int flags)
{
	for (int i = 0; i < stack->frame_count; i++)
	{
		const PlhFrameText *frame = &stack->frames[i];

		if (frame->language != PLH_LANGUAGE_NONE)
			continue;
		if (frame->module == NULL || strcmp(frame->module, stack->frames[0].module) != 0)
			return false;
		if (plh_allocation_wrappers_has(frame->function, flags))
			return true;
	}
	return false;
}
