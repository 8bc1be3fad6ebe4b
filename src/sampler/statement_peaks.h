/*
 * statement_peaks.h
 *	  What the statement that runs takes at its peak, told to the file of statements.
 *
 * These functions may be called inside palloc, except in a critical section, under the guard, by a
 * process that has a profile.
 */
#pragma once

#include "profile/profile_counters.h"

/* Called where a sample is about to be kept: it is of no statement, or of another one. */
extern void plh_statement_peaks_pause(void);
extern void plh_statement_peaks_end(void);

/* Called after that, with the first sample of a statement, which is an offset in the profile. */
extern void plh_statement_peaks_begin(uint32 statement, TimestampTz start);

/* It is known better by now: its query id has been computed since. */
extern void plh_statement_peaks_rename(uint32 statement);

/* These do the work of the functions below. */
extern void plh_statement_peaks_resume(void);
extern void plh_statement_peaks_grown(void);

/* Called at the end of a transaction that had a sample. */
extern void plh_statement_peaks_transaction_over(void);

extern void plh_statement_peaks_forget(void);

/* The statement has another sample; its transaction may have ended in between. */
static inline void
plh_statement_peaks_go_on(void)
{
	if (unlikely(plh_profile_run_is_paused()))
		plh_statement_peaks_resume();
}

/* A sample has been counted. */
static inline void
plh_statement_peaks_sampled(void)
{
	if (unlikely(plh_profile_run.is_due))
		plh_statement_peaks_grown();
}
