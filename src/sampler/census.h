/*
 * census.h
 *	  What all memory contexts and malloc hold, and how that went on over time.
 *
 * Callable inside palloc, except in a critical section; never pallocs or
 * throws.  Only for processes that have a profile.
 */
#ifndef PLH_CENSUS_H
#define PLH_CENSUS_H

extern bool plh_census_take_if_older(int64 gap_us);
extern void plh_census_count_contexts(void);
extern void plh_census_forget(void);

#endif							/* PLH_CENSUS_H */
