/*
 * census_history.h
 *	  What each census found, in a history that has room for some.
 *
 * These functions are called inside palloc; they never palloc or throw.
 */
#pragma once

#include "datatype/timestamp.h"

/*
 * Add what the profile has of a census.  "now_us" is the time by the monotonic clock.  Readers do
 * not see a point while it is changed.  What is about to be freed is not part of "live_bytes", as
 * its contexts are not counted either.
 */
extern void plh_census_history_add(TimestampTz now, int64 now_us, int64 live_bytes);

extern void plh_census_history_forget(void);
