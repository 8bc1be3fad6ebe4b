/*
 * census_count.h
 *	  What memory contexts and malloc hold, counted once.
 *
 * These functions are called inside palloc, but not in a critical section; they never palloc or
 * throw.  The process must have a profile.
 */
#pragma once

/* How contexts are counted. */
typedef struct PlhCensusCount
{
	int64		end_us;			/* by the processor's time, when it is given
								 * up; 0: however long it takes */
	bool		with_free;		/* count what is free in them, too */
	bool		is_asked;		/* not by the process' work, of which contexts
								 * get no checkpoint then */
	MemoryContext over;			/* what is in it is over, as it is about to be
								 * reset; else NULL */
} PlhCensusCount;

/* Returns false, and all figures are as before, where it was given up. */
extern bool plh_census_count_take(const PlhCensusCount *how);

/* The same for the leak check, which calls it from outside palloc, without the guard. */
extern void plh_census_count_contexts(void);

/* What malloc has given out, and what it keeps; -1 if it does not tell. */
extern void plh_census_count_malloc(void);

/* What that context is about to free counts as free. */
extern void plh_census_count_as_free(MemoryContext over);

extern void plh_census_count_forget(void);
