/*
 * forecast_words.h
 *	  When memory will run out, and whose growth it is, in sentences and for programs.
 *
 * Never called inside palloc.
 */
#pragma once

#include "sampler/control_file.h"
#include "telling/sentences.h"

/* The headline of a line in the log, in the current memory context, and its detail. */
extern char *plh_forecast_words_headline(const PlhControlForecast *forecast);
extern void plh_forecast_words_say_detail(PlhSaid *said, const PlhControlForecast *forecast);

/* What the keeper foresees now; nothing is said, and null put, if it foresees nothing. */
extern void plh_forecast_words_say(PlhSaid *said);
extern void plh_forecast_words_put(StringInfo json);
