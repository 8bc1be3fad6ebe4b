/*
 * held_series.h
 *	  What each call site, or each name of memory contexts, holds at some time, in order.
 *
 * Never called inside palloc.
 */
#pragma once

/* A site holds bytes and chunks; a name holds bytes and a number of contexts. */
typedef struct PlhHeld
{
	int			number;			/* of the site or name; see leak_snapshot.h */
	int64		bytes;
	int64		count;
} PlhHeld;

/* By ascending number. */
typedef struct PlhHeldSeries
{
	int			count;
	int			room;
	PlhHeld    *held;
} PlhHeldSeries;

/* At the end, in an array that "memory" has. */
extern void plh_held_series_append(PlhHeldSeries *series, PlhHeld held, MemoryContext memory);

/* If they were not appended in their order. */
extern void plh_held_series_sort(PlhHeldSeries *series);

/* What that number has gained from one time to another. */
extern PlhHeld plh_held_series_gain(const PlhHeldSeries *from, const PlhHeldSeries *to, int number);
