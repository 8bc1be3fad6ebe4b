/*
 * words.c
 *	  Figures in words: sizes, times, sampling intervals and build-ids.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/size_units.h"
#include "report/words.h"

char *
plh_words_size(int64 bytes)
{
	return pstrdup(plh_size_units(bytes).text);
}

char *
plh_words_estimate(int64 bytes, int64 error_bytes)
{
	if (error_bytes <= 0)
		return plh_words_size(bytes);
	return psprintf("%s (+/- %s)", plh_words_size(bytes),
					plh_size_units_error(error_bytes, bytes).text);
}

const char *
plh_words_interval(uint32 interval_bytes)
{
	if (interval_bytes == 0)
		return "not sampling now";
	if (interval_bytes == 1)
		return "every allocation sampled";
	return psprintf("one sample in %s", plh_words_size(interval_bytes));
}

char *
plh_words_duration(TimestampTz from, TimestampTz to)
{
	int64		seconds = to > from ? (to - from + USECS_PER_SEC / 2) / USECS_PER_SEC : 0;
	int64		minutes = seconds / SECS_PER_MINUTE;
	int64		hours = minutes / MINS_PER_HOUR;

	if (minutes < 2)
		return psprintf(INT64_FORMAT " s", seconds);
	if (hours < 2)
		return psprintf(INT64_FORMAT " min", minutes);
	if (hours < 2 * HOURS_PER_DAY)
		return psprintf(INT64_FORMAT " h", hours);
	return psprintf(INT64_FORMAT " days", hours / HOURS_PER_DAY);
}

char *
plh_words_span(TimestampTz from, TimestampTz to)
{
	double		seconds = ((double) to - (double) from) / USECS_PER_SEC;

	return seconds >= 0 && seconds < 9.95 ? psprintf("%.1f s", seconds) :
		plh_words_duration(from, to);
}

char *
plh_words_time(TimestampTz time)
{
	return pstrdup(timestamptz_to_str(time - time % USECS_PER_SEC));
}

char *
plh_words_build_id(const PlhModuleRecord *module)
{
	char	   *text = palloc0(2 * module->build_id_bytes + 1);

	hex_encode((const char *) module->build_id, module->build_id_bytes, text);
	return text;
}
