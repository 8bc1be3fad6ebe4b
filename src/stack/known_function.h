/*
 * known_function.h
 *	  What is known of a function of the server, or of a library, that means something
 *	  in a stack.
 *
 * This header includes no other of ours.
 */
#ifndef PLH_KNOWN_FUNCTION_H
#define PLH_KNOWN_FUNCTION_H

/* Calls of palloc pass through the function to reach a context's methods. */
#define PLH_FUNCTION_ALLOCATOR	0x01

/*
 * The function allocates on behalf of its caller; all allocators do.  So do functions of
 * nodes, such as _copyPlan, _outPlan and _readPlan, which no table lists.
 */
#define PLH_FUNCTION_WRAPPER		0x02

/*
 * The function fills a cache or table of the server whose size is bounded, or
 * whose life ends with the top-level transaction.
 */
#define PLH_FUNCTION_BOUNDED_CACHE 0x04

/* The function fills one of the server's caches of what stands in catalogs. */
#define PLH_FUNCTION_CATALOG_CACHE 0x08

/*
 * The name of a function whose return address a uretprobe has replaced, so that nobody
 * knows which it is: it may be a wrapper, and then its caller is right, or else the
 * nearest that can be known.
 */
#define PLH_PROBED_FUNCTION "[uretprobe]"

/*
 * The function does little else than allocate, so that what it calls says nothing of a
 * stack: pprof may leave it out with all of these.
 */
#define PLH_FUNCTION_PRUNED 0x10

/* At most this many functions have PLH_FUNCTION_ALLOCATOR. */
#define PLH_MAX_ALLOCATORS 32

typedef struct PlhKnownFunction
{
	const char *name;
	int			flags;			/* PLH_FUNCTION_* */
} PlhKnownFunction;

#endif							/* PLH_KNOWN_FUNCTION_H */
