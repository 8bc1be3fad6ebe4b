/*
 * forecast_line.h
 *	  The line in the server's log that tells when memory will run out.
 *
 * Never called inside palloc.
 */
#pragma once

#include "sampler/control_file.h"

extern void plh_forecast_line_log(const PlhControlForecast *facts);
