/*
 * interval_text.c
 *	  Describes sampling intervals in words.
 */
#include "postgres.h"

#include "report/interval_text.h"
#include "report/size_text.h"

/*
 * Describe how a process samples.  The interval is that of its profile, which
 * is 0 while the process does not sample.
 */
const char *
plh_interval_text(uint32 interval_bytes)
{
	if (interval_bytes == 0)
		return "not sampling now";
	if (interval_bytes == 1)
		return "every allocation sampled";
	return psprintf("one sample in %s", plh_size_text(interval_bytes));
}

/*
 * Describe how several processes sample, whose intervals differ.
 */
const char *
plh_interval_text_of_range(uint32 least_bytes, uint32 most_bytes)
{
	return psprintf("one sample in %s to %s", plh_size_text(least_bytes),
					plh_size_text(most_bytes));
}
