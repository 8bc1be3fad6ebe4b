/*
 * forecast_place.h
 *	  Where the keeper leaves its forecast of memory, for all who ask.
 *
 * Never called inside palloc.
 */
#pragma once

#include "sampler/control_file.h"

/* Only the keeper calls this; a forecast whose looked_at_us is 0 is none. */
extern void plh_forecast_place_set(const PlhControlForecast *forecast);

/*
 * Returns false if there is none, or the keeper has not looked for some time.  Times are counted
 * from now on.
 */
extern bool plh_forecast_place_get(PlhControlForecast *forecast);
