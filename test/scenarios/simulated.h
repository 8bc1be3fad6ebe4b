/*
 * simulated.h
 *	  A process of a server, as far as its profile shows it: memory contexts, chunks in
 *	  them, malloc, transactions and time.
 *
 * The sampler's mathematics, the profile, its counters, the census and the upkeep are
 * the real ones; contexts are empty shells, and clocks stand until somebody sets them.
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include "common/pg_prng.h"
#include "nodes/memnodes.h"

#include "base/allocator.h"
#include "profile/profile_layout.h"
#include "stack/unwind.h"

#define KB INT64CONST(1024)
#define MB (1024 * KB)

/* Contexts that are there in each process. */
typedef struct Tree
{
	MemoryContext top;
	MemoryContext cache;
	MemoryContext message;
	MemoryContext portal;
	MemoryContext executor;
	MemoryContext transaction;
} Tree;

/* How a process differs from others. */
typedef struct Ways
{
	uint32		interval;		/* of samples */
	int64		step_us;		/* from one transaction to the next */
	double		us_per_mb;		/* that is allocated */
	double		rounding;		/* part by which chunks take more than is
								 * asked for */
	int64		counted_from_us;	/* age from which there are censuses; -1:
									 * never */
	bool		publishes_late; /* once it is worth a profile; else at once */
} Ways;

extern Tree tree;
extern pg_prng_state chance;

extern void simulated_begin(uint64 seed, const Ways *ways);
extern void simulated_set_ways(const Ways *ways);
extern void simulated_end(void);
extern bool simulated_is_published(void);
extern void simulated_count(void);	/* as somebody has asked for it */
extern int64 simulated_now_us(void);	/* since it began */
extern TimestampTz simulated_time(void);
extern int64 simulated_lasting_bytes(void);
extern void simulated_wait(int64 us);
extern void simulated_transaction(void);	/* begins */
extern void simulated_statement(const char *format,...) pg_attribute_printf(1, 2);
extern void simulated_query_id(uint64 query_id);	/* of statements; 0: none */
extern void simulated_finish(void); /* the statement, not its transaction */
extern void simulated_commit(void);

extern MemoryContext context_create(const char *name, MemoryContext parent);
extern void context_reset(MemoryContext context);	/* and delete its children */
extern void context_delete(MemoryContext context);

/* So much of it is free, until it is reset. */
extern void context_has_free(MemoryContext context, int64 bytes);

/*
 * "who" has a stack of its own, which whoever uses these fills in: its addresses, and how
 * many there are.
 */
extern void simulated_stack(int who, PlhStack *stack);
extern void allocate(MemoryContext context, int who, Size size, int64 count);
extern void allocate_and_free(MemoryContext context, int who, Size size, int64 count);
extern void enlarge(MemoryContext context, int who, Size from, Size to);
extern void free_some(MemoryContext context, int who, double part);

/* Called where samples are of statements, unless they are NULL. */
typedef struct SimulatedStatements
{
	void		(*before_sample) (uint32 statement);	/* by its offset */
	void		(*after_sample) (void);
	void		(*transaction_over) (void); /* that had a sample */
} SimulatedStatements;

extern SimulatedStatements simulated_statements;

/*
 * Asked of each allocation that takes the slow path, with the bytes that it adds and the
 * interval: is it to fail?  Then nothing of it, or behind it, is allocated.
 */
extern bool (*simulated_refuses) (MemoryContext context, Size size, uint32 interval);

extern void simulated_hurry(void);	/* the next one takes that path */

extern void malloc_allocates(int who, Size size, int64 count);	/* and is sampled */
extern void malloc_frees(int who, double part);
extern void malloc_is_of(PlhAllocator allocator);	/* glibc's at first */
extern void malloc_changes(int64 bytes);	/* outside of contexts */
extern void malloc_keeps(int64 bytes);	/* of what was freed */
extern void malloc_keeps_in_arenas(int64 bytes);	/* of other threads */
extern void others_map(int64 bytes);

/* Random numbers: evenly, and so that each magnitude is as frequent. */
extern int64 between(int64 from, int64 to);
extern int64 magnitude(int64 from, int64 to);
extern bool happens(double probability);

/* Who allocates at a site. */
#define WHO_ADDRESS(who) (0x1000 * (uint64) (who) + 16)
#define WHO_AT(address) ((int) ((address) / 0x1000))

#endif							/* SIMULATED_H */
