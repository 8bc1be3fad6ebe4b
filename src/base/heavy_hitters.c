/*
 * heavy_hitters.c
 *	  Which of many things that come one by one have most bytes, in little memory.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "base/heavy_hitters.h"

/* The most that the thing at a place can have. */
static inline int64
most_bytes(const PlhHeavyHitter *place)
{
	return place->bytes + place->missed_bytes;
}

/* The place for a thing that has none: a free one, or that of the one that has least. */
static PlhHeavyHitter *
place_for_new(PlhHeavyHitters *hitters)
{
	PlhHeavyHitter *least = &hitters->places[0];

	if (hitters->used < PLH_HEAVY_PLACES)
	{
		PlhHeavyHitter *place = &hitters->places[hitters->used++];

		memset(place, 0, sizeof(*place));
		return place;
	}
	for (int i = 1; i < PLH_HEAVY_PLACES; i++)
	{
		if (most_bytes(&hitters->places[i]) < most_bytes(least))
			least = &hitters->places[i];
	}
	return least;
}

PlhHeavyHitter *
plh_heavy_hitters_add(PlhHeavyHitters *hitters, uint64 key, const void *first,
					  int64 bytes)
{
	PlhHeavyHitter *place = NULL;

	for (int i = 0; i < hitters->used && place == NULL; i++)
	{
		if (hitters->places[i].key == key)
			place = &hitters->places[i];
	}
	if (place == NULL)
	{
		place = place_for_new(hitters);
		*place = (PlhHeavyHitter)
		{
			.key = key,.first = first,.missed_bytes = most_bytes(place)
		};
	}
	place->count++;
	place->bytes += bytes;
	return place;
}

void
plh_heavy_hitters_sort(PlhHeavyHitters *hitters)
{
	for (int i = 1; i < hitters->used; i++)
	{
		PlhHeavyHitter moved = hitters->places[i];
		int			to = i;

		for (; to > 0 && hitters->places[to - 1].bytes < moved.bytes; to--)
			hitters->places[to] = hitters->places[to - 1];
		hitters->places[to] = moved;
	}
}
