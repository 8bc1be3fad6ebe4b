/*
 * malloc_gain.h
 *	  How much malloc has given out in this session since some time, other than
 *	  to memory contexts.
 *
 * Called by a session about itself, which must have a profile, never inside
 * palloc.
 */
#ifndef PLH_MALLOC_GAIN_H
#define PLH_MALLOC_GAIN_H

/* What was in use at some time. */
typedef struct PlhMallocMark
{
	int64		malloc_bytes;	/* -1: not known */
	int64		context_bytes;	/* of these, by memory contexts */
} PlhMallocMark;

extern PlhMallocMark plh_malloc_gain_mark(void);

/* Returns 0 where it is not sure that there was a gain. */
extern int64 plh_malloc_gain_since(const PlhMallocMark *mark, int iterations);

extern int64 plh_malloc_gain_beside(int64 gained, double bytes, double chunks);

#endif							/* PLH_MALLOC_GAIN_H */
