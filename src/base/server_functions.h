/*
 * server_functions.h
 *	  The functions of the server, and of libraries, that mean something in a
 *	  stack, by name.
 *
 * These functions may be called inside palloc; they never palloc or throw.
 * This header includes no other of ours.
 */
#ifndef PLH_SERVER_FUNCTIONS_H
#define PLH_SERVER_FUNCTIONS_H

/* Calls of palloc pass through the function to reach a context's methods. */
#define PLH_SERVER_ALLOCATOR	0x01

/* The function allocates on behalf of its caller; all allocators do. */
#define PLH_SERVER_HELPER		0x02

/*
 * The function fills a cache or table of the server whose size is bounded, or
 * whose life ends with the top-level transaction.
 */
#define PLH_SERVER_BOUNDED_CACHE 0x04

/* At most this many functions have PLH_SERVER_ALLOCATOR. */
#define PLH_SERVER_MAX_ALLOCATORS 32

typedef struct PlhServerFunction
{
	const char *name;
	int			flags;			/* PLH_SERVER_* */
} PlhServerFunction;

extern bool plh_server_functions_are_sorted(void);
extern bool plh_server_functions_has(const char *name, int flag);
extern const PlhServerFunction *plh_server_functions_next(const PlhServerFunction *previous,
														  int flag);

#endif							/* PLH_SERVER_FUNCTIONS_H */
