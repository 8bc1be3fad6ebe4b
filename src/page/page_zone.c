/*
 * page_zone.c
 *	  The time zone in which a page shows times: that of the session.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "report/json.h"
#include "page/page_zone.h"

void
plh_page_zone_append(StringInfo json, TimestampTz at)
{
	pg_time_t	seconds = timestamptz_to_time_t(at);
	const struct pg_tm *local = pg_localtime(&seconds, session_timezone);

	plh_json_put_number(json, "utc_offset", local == NULL ? 0 : local->tm_gmtoff);
	plh_json_put_text(json, "zone", local == NULL ? "UTC" : local->tm_zone);
}
