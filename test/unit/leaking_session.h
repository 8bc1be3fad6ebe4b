/*
 * leaking_session.h
 *	  A session of a server, as far as its profile shows it: allocations that
 *	  are sampled, in transactions, for statements.
 *
 * The profile and its counters are the real ones; the session is a loop.
 */
#ifndef LEAKING_SESSION_H
#define LEAKING_SESSION_H

#include "storage/proc.h"

#include "base/sampling.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"

/* Who allocates: each has one stack. */
typedef enum Allocator
{
	NOBODY,
	LEAKING_TOP,
	LEAKING_IN_CACHE,
	LEAKING_IN_CONTEXT,
	RELATION_CACHE,
	CATALOG_CACHE,
	INDEX_INFO,
	PLAN_CACHE,
	FUNCTION_CACHE,
	HASH_TABLE,
	BALANCED
} Allocator;

typedef struct Session
{
	pg_prng_state prng;
	uint32		interval;
	int64		countdown;
	PGPROC		proc;			/* has the number of the transaction */
	char		statement[128]; /* that runs */
	int			routine_line;	/* of PL/pgSQL; 0: none */
	bool		relations[2000];	/* are cached */
	bool		functions[500];
	bool		table;			/* is filled */
	int			prepared;
} Session;

/* Where its first frame is. */
#define ALLOCATOR_ADDRESS(allocator) (0x1000 * (allocator) + 16)
#define ALLOCATOR_AT(address) ((Allocator) ((address) / 0x1000))

extern void begin_session(Session *session, int seed, uint32 interval);
extern void end_session(void);
extern void begin_transaction(Session *session, uint32 number);
extern void begin_statement(Session *session, const char *format,...) pg_attribute_printf(2, 3);
extern uint32 site_of(const Session *session, Allocator allocator,
					  const char *context, PlhLifetime lifetime);
extern void allocate_for(Session *session, Allocator allocator,
						 const char *context, PlhLifetime lifetime, Size size,
						 bool kept);
extern void allocate(Session *session, Allocator allocator,
					 const char *context, Size size);
extern void run_workload(Session *session, int transactions, bool leaks);

#endif							/* LEAKING_SESSION_H */
