/*
 * upkeep.h
 *	  What an owner does beside counting samples: header, census, publication, growth dump.
 *
 * These functions may be called inside palloc, except in a critical section, under the guard; they
 * never palloc, throw or lock.  plh_upkeep_if_asked may be called anywhere.
 */
#pragma once

/* What upkeep may follow. */
typedef enum PlhUpkeepEvent
{
	PLH_UPKEEP_SAMPLE_KEPT,		/* or lost, by a process that has a profile */
	PLH_UPKEEP_SAMPLE_NOT_KEPT,
	PLH_UPKEEP_SHORT_COMMIT,
	PLH_UPKEEP_LONG_COMMIT,
	PLH_UPKEEP_PORTAL_OVER,		/* of a process that nobody sees yet */
	PLH_UPKEEP_STATEMENT_OVER,	/* and what it needed, as its message is */
	PLH_UPKEEP_EVENTS			/* number of them, must be last */
} PlhUpkeepEvent;

/* One sample of this many has its upkeep even within a tick of the clock. */
#define PLH_UPKEEP_SAMPLES 16

/* Samples at smaller intervals than this many bytes are frequent. */
#define PLH_UPKEEP_INTERVAL 4096

/* Samples at such intervals that were not kept. */
extern uint32 plh_upkeep_samples_not_kept;

/*
 * Is a sample of that interval, which is not kept, an event?  Of frequent ones, one in
 * PLH_UPKEEP_SAMPLES is.
 */
static inline bool
plh_upkeep_counts(uint32 interval)
{
	return interval >= PLH_UPKEEP_INTERVAL ||
		plh_upkeep_samples_not_kept++ % PLH_UPKEEP_SAMPLES == 0;
}

extern void plh_upkeep_run(PlhUpkeepEvent event, int64 now_us);
extern void plh_upkeep_if_asked(void);
extern bool plh_upkeep_counts_commit(int64 tick);
extern void plh_upkeep_forget(void);
