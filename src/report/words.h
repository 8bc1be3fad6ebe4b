/*
 * words.h
 *	  Figures in words: sizes, times, sampling intervals and build-ids.
 *
 * A text is a constant, or palloc'd in the current memory context.  Never called inside palloc.
 */
#pragma once

#include "datatype/timestamp.h"
#include "profile/profile_layout.h"

/* With a unit, as pg_size_pretty does, negative ones included. */
extern char *plh_words_size(int64 bytes);

/* The same of an estimate, with its error: "64 MB (+/- 12 MB)".  What was counted has none. */
extern char *plh_words_estimate(int64 bytes, int64 error_bytes);

/* How a process samples.  The interval of its profile is 0 while it does not. */
extern const char *plh_words_interval(uint32 interval_bytes);

/* The time that has passed, in the largest unit of which there are two. */
extern char *plh_words_duration(TimestampTz from, TimestampTz to);

/* The same as a part of a rate: short ones have tenths of a second, as readers divide by them. */
extern char *plh_words_span(TimestampTz from, TimestampTz to);

/* To the second, in the session's time zone. */
extern char *plh_words_time(TimestampTz time);

/* As readelf and pprof write it; empty if the module has none. */
extern char *plh_words_build_id(const PlhModuleRecord *module);
