/*
 * allocation_wrappers.h
 *	  The functions of the server, and of libraries, that mean something in a
 *	  stack, by name, and which frame of a stack is the call site.
 *
 * An exiting process and a session that asks know the names of frames from
 * different places: the rule for the call site is the same.
 *
 * These functions may be called inside palloc; they never palloc or throw.
 */
#ifndef PLH_ALLOCATION_WRAPPERS_H
#define PLH_ALLOCATION_WRAPPERS_H

#include "stack/known_function.h"

extern bool plh_allocation_wrappers_has(const char *name, int flag);
extern const PlhKnownFunction *plh_allocation_wrappers_next(int *place, int flag);

/* What is known of a frame. */
typedef enum PlhFrameKind
{
	PLH_FRAME_UNNAMED,			/* no more than its address */
	PLH_FRAME_FUNCTION,
	PLH_FRAME_WRAPPER			/* a function that allocates for its caller */
} PlhFrameKind;

/* Returns the kind of the frame with that index, which is below "count". */
typedef PlhFrameKind (*PlhFrameKindOf) (const void *frames, uint32 index);

/* The kind of a frame in the function of that name; NULL: it has none. */
extern PlhFrameKind plh_allocation_wrappers_kind(const char *function);
extern uint32 plh_allocation_wrappers_call_site(const void *frames, uint32 count,
												PlhFrameKindOf kind_of);

#endif							/* PLH_ALLOCATION_WRAPPERS_H */
