/*
 * heavy_hitters.h
 *	  Which of many things that come one by one have most bytes, in little memory: the
 *	  scheme that is known as space-saving.
 *
 * There are a few places.  A thing without one takes that of the thing that has least,
 * and may have had as much before.  So what a place has counted is never too much; and
 * whatever has more than its part of all bytes (one in PLH_HEAVY_PLACES) has a place.
 *
 * These functions may be called inside palloc: they change nothing but the struct.
 */
#ifndef PLH_HEAVY_HITTERS_H
#define PLH_HEAVY_HITTERS_H

#define PLH_HEAVY_PLACES 16

typedef struct PlhHeavyHitter
{
	uint64		key;			/* tells the thing from others */
	const void *first;			/* the caller's, of the thing as it came first */
	int64		count;			/* how often it came since it has this place */
	int64		bytes;			/* of these */
	int64		missed_bytes;	/* at most so much it had before; 0: it is
								 * known from the beginning */
	bool		varies;			/* the caller's */
} PlhHeavyHitter;

typedef struct PlhHeavyHitters
{
	int			used;			/* places, from the first on */
	PlhHeavyHitter places[PLH_HEAVY_PLACES];
} PlhHeavyHitters;

/* Zeros are a valid beginning.  The place that is returned has counted the thing. */
extern PlhHeavyHitter *plh_heavy_hitters_add(PlhHeavyHitters *hitters, uint64 key,
											 const void *first, int64 bytes);

/* Bring the places into order: first what has surely most bytes. */
extern void plh_heavy_hitters_sort(PlhHeavyHitters *hitters);

#endif							/* PLH_HEAVY_HITTERS_H */
