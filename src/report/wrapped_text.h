/*
 * wrapped_text.h
 *	  Prose for people: lines that fit a terminal, and times in words.
 *
 * Never called inside palloc.
 */
#ifndef PLH_WRAPPED_TEXT_H
#define PLH_WRAPPED_TEXT_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

/* A line has at most so many characters, unless a single word is longer. */
#define PLH_WRAPPED_COLUMNS 100

extern void plh_wrapped_text_append(StringInfo text, const char *paragraph);
extern char *plh_wrapped_text_duration(TimestampTz from, TimestampTz to);
extern char *plh_wrapped_text_time(TimestampTz time);
extern char *plh_wrapped_text_one_line(const char *text, int columns);

#endif							/* PLH_WRAPPED_TEXT_H */
