/*
 * census.h
 *	  When a process counts its memory contexts and malloc, so that its figures are true.
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
extern void plh_census_note_own_bytes(void);
extern void plh_census_forget(void);
