/*
 * forecast_place.c
 *	  Where the keeper leaves its forecast of memory, for all who ask.
 *
 * It lies in the file of requests.  A number counts its changes, and is odd meanwhile: who reads
 * compares it before and after.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "process/forecast_place.h"

/* A reader tries again while the keeper writes, which takes less than a microsecond. */
#define MOST_TRIES 100

/* A forecast that is older is none. */
#define FRESH_US INT64CONST(10000000)

/* All behind the number of changes. */
#define FIRST offsetof(PlhControlForecast, of_group)

static void
copy(PlhControlForecast *to, const PlhControlForecast *from)
{
	memcpy((char *) to + FIRST, (const char *) from + FIRST, sizeof(*to) - FIRST);
}

void
plh_forecast_place_set(const PlhControlForecast *forecast)
{
	PlhControlForecast *place;

	if (plh_control_file == NULL)
		return;
	place = &plh_control_file->forecast;
	(void) pg_atomic_fetch_or_u32(&place->changes, 1);
	pg_memory_barrier();
	copy(place, forecast);
	pg_memory_barrier();
	(void) pg_atomic_fetch_add_u32(&place->changes, 1);
}

/* Returns false if it changed all the time: the keeper has died while it wrote. */
static bool
read_place(PlhControlForecast *forecast)
{
	PlhControlForecast *place = &plh_control_file->forecast;

	for (int tries = 0; tries < MOST_TRIES; tries++)
	{
		uint32		changes = pg_atomic_read_u32(&place->changes);

		pg_read_barrier();
		copy(forecast, place);
		pg_read_barrier();
		if ((changes & 1) == 0 && changes == pg_atomic_read_u32(&place->changes))
			return true;
	}
	return false;
}

bool
plh_forecast_place_get(PlhControlForecast *forecast)
{
	int64		age_us;

	if (plh_control_file == NULL || !read_place(forecast) || forecast->looked_at_us == 0)
		return false;
	age_us = plh_clock_us(CLOCK_MONOTONIC) - forecast->looked_at_us;
	if (age_us < 0 || age_us > Max(FRESH_US, plh_keeper_time(FRESH_US)))
		return false;
	forecast->left_us = Max(0, forecast->left_us - age_us);
	forecast->soonest_us = Max(0, forecast->soonest_us - age_us);
	forecast->latest_us = Max(0, forecast->latest_us - age_us);
	return true;
}
