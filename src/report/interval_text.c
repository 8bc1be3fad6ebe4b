/*
 * interval_text.c
 *	  Sampling intervals as people read them.
 */
#include "postgres.h"

#include "report/interval_text.h"
#include "report/size_text.h"

/*
 * How a process samples whose profile has this interval; 0 while it does not.
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
