/*
 * census.h
 *	  The bytes that all memory contexts and malloc hold, now and over time.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc or
 * throw.  The process must have a profile.
 */
#pragma once

extern bool plh_census_take_if_older(int64 gap_us, bool brief);
extern bool plh_census_take_at_reset(MemoryContext context, int64 gap_us);
extern bool plh_census_take_if_asked(MemoryContext over);
extern void plh_census_take_at_exit(void);
extern bool plh_census_is_missing(void);
extern void plh_census_count_contexts(void);
extern void plh_census_count_malloc(void);
extern void plh_census_note_own_bytes(void);
extern void plh_census_forget(void);
