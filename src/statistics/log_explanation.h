/*
 * log_explanation.h
 *	  All that a text says of memory, explained: in sentences, and for programs.
 *
 * Never called inside palloc.
 */
#pragma once

#include "statistics/log_reading.h"
#include "telling/sentences.h"

/* Only what statistics of memory contexts say, of a process or several. */
extern void plh_log_explanation_say_statistics(PlhSaid *said, const PlhLogReading *reading,
											   int encoding);

/* In the current memory context.  The text that was read has that encoding. */
extern void plh_log_explanation_say(PlhSaid *said, const PlhLogReading *reading, int encoding);

/* Members of an object of JSON: statistics and messages, but not the text. */
extern void plh_log_explanation_put_members(StringInfo json, const PlhLogReading *reading,
											int encoding);

/* An object of JSON. */
extern void plh_log_explanation_put(StringInfo json, const PlhLogReading *reading, int encoding);
