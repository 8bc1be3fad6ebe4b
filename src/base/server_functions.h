/*
 * server_functions.h
 *	  The functions of the server that mean something in a stack, by name.
 *
 * Callable inside palloc: never pallocs, never throws.  Includes none of our
 * headers.
 */
#ifndef PLH_SERVER_FUNCTIONS_H
#define PLH_SERVER_FUNCTIONS_H

/* A call of palloc passes through it before it reaches a context's methods. */
#define PLH_SERVER_ALLOCATOR	0x01

/* It allocates on behalf of its caller; all allocators do. */
#define PLH_SERVER_HELPER		0x02

/*
 * It fills a cache or table of the server's that is bounded, or bound to the
 * top-level transaction.
 */
#define PLH_SERVER_BOUNDED_CACHE 0x04

/* There are no more functions than that with PLH_SERVER_ALLOCATOR. */
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
