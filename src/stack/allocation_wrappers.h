/*
 * allocation_wrappers.h
 *	  The functions of the server, and of libraries, that mean something in a stack, by name,
 *	  where the server's lie, and which frame of a stack is the call site.
 *
 * An exiting process and a session that asks know the names of frames from different places: the
 * rule for the call site is the same.
 *
 * But for those that say so, these functions may be called inside palloc; they never palloc or
 * throw.
 */
#pragma once

#include "stack/call_frame_info.h"

/* Calls of palloc pass through the function to reach a context's methods. */
#define PLH_FUNCTION_ALLOCATOR	0x01

/*
 * The function allocates on behalf of its caller; all allocators do.  So do functions of nodes,
 * such as _copyPlan, _outPlan and _readPlan, which no table lists.
 */
#define PLH_FUNCTION_WRAPPER		0x02

/*
 * The function fills a cache or table of the server whose size is bounded, or whose life ends with
 * the top-level transaction.
 */
#define PLH_FUNCTION_BOUNDED_CACHE 0x04

/* The function fills one of the server's caches of what stands in catalogs. */
#define PLH_FUNCTION_CATALOG_CACHE 0x08

/*
 * The name of a function whose return address a uretprobe has replaced, so that nobody knows which
 * it is: it may be a wrapper, and then its caller is right, or else the nearest that can be known.
 */
#define PLH_PROBED_FUNCTION "[uretprobe]"

/*
 * The function does little else than allocate, so that what it calls says nothing of a stack: pprof
 * may leave it out with all of these.
 */
#define PLH_FUNCTION_PRUNED 0x10

/*
 * All that a process does passes through the function, or all that a statement, an expression or a
 * call does: that it stands in a stack says nothing.
 */
#define PLH_FUNCTION_ENTRY 0x20

/* At most this many functions have PLH_FUNCTION_ALLOCATOR. */
#define PLH_MAX_ALLOCATORS 32

extern bool plh_allocation_wrappers_has(const char *name, int flag);
extern const char *plh_allocation_wrappers_next(int *place, int flag);

/*
 * Outside of palloc: finds the code of a function of the server by its dynamic symbols, or that of
 * all wrappers, once.  The first returns false if there is no function of that name.
 */
extern bool plh_allocation_wrappers_code(const char *name, PlhCodeRange *range);
extern void plh_allocation_wrappers_locate(void);

/* Is it an address in a wrapper?  None is before they were located. */
extern bool plh_allocation_wrappers_have(uintptr_t address);

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
