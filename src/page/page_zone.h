/*
 * page_zone.h
 *	  The time zone in which a page shows times: that of the session.
 *
 * Never called inside palloc.
 */
#pragma once

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

/* Write its offset from UTC in seconds and its name, as of that time. */
extern void plh_page_zone_append(StringInfo json, TimestampTz at);
