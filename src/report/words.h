/*
 * words.h
 *	  Figures in words: sizes, times, sampling intervals and build-ids.
 *
 * A text is a constant, or palloc'd in the current memory context.  Never called inside palloc.
 */
#pragma once

#include "datatype/timestamp.h"
#include "profile/profile_layout.h"

extern char *plh_words_size(int64 bytes);
extern char *plh_words_estimate(int64 bytes, int64 error_bytes);
extern const char *plh_words_interval(uint32 interval_bytes);
extern char *plh_words_duration(TimestampTz from, TimestampTz to);
extern char *plh_words_span(TimestampTz from, TimestampTz to);
extern char *plh_words_time(TimestampTz time);
extern char *plh_words_build_id(const PlhModuleRecord *module);
