/*
 * held_series.c
 *	  What each call site, or each name of memory contexts, holds at some time, in order.
 */
#include "postgres.h"

#include "check/held_series.h"
#include "reader/collections.h"

/* Entries that a series has room for at first. */
#define FIRST_ROOM 256

void
plh_held_series_append(PlhHeldSeries *series, PlhHeld held, MemoryContext memory)
{
	if (series->held == NULL)
	{
		series->room = FIRST_ROOM;
		series->held = MemoryContextAllocHuge(memory, sizeof(PlhHeld) * series->room);
	}
	series->held = plh_array_grow(series->held, series->count, &series->room, sizeof(PlhHeld));
	series->held[series->count++] = held;
}

static int
compare_numbers(const void *a, const void *b)
{
	return ((const PlhHeld *) a)->number - ((const PlhHeld *) b)->number;
}

void
plh_held_series_sort(PlhHeldSeries *series)
{
	if (series->count > 1)
		qsort(series->held, series->count, sizeof(PlhHeld), compare_numbers);
}

/* What that number held at some time: nothing before it was there. */
static PlhHeld
held_by(const PlhHeldSeries *series, int number)
{
	PlhHeld		none = {.number = number};
	const PlhHeld *held = series->count == 0 ? NULL :
		bsearch(&none, series->held, series->count, sizeof(PlhHeld), compare_numbers);

	return held != NULL ? *held : none;
}

PlhHeld
plh_held_series_gain(const PlhHeldSeries *from, const PlhHeldSeries *to, int number)
{
	PlhHeld		result = held_by(to, number);
	PlhHeld		before = held_by(from, number);

	result.bytes -= before.bytes;
	result.count -= before.count;
	return result;
}
