/*
 * dump_worth.h
 *	  Whether a process that did not exit cleanly is worth a dump.
 *
 * By the settings of the process that asks.  One that exits knows more of itself
 * (process/exit_dump.h).  Allocates nothing and never throws.
 */
#ifndef PLH_DUMP_WORTH_H
#define PLH_DUMP_WORTH_H

#include "base/settings.h"
#include "profile/profile_image.h"

/*
 * What a process held when it last counted may be nothing that stays at an exit,
 * such as a query's memory: so it must be as much as a peak.  What a crash began
 * with is always of interest.
 */
static inline bool
plh_dump_worth_after_crash(const PlhProfileHeader *header)
{
	return plh_death_has_cause(&header->death) ||
		plh_profile_image_surely_live_bytes(header) >= plh_dump_min_bytes ||
		plh_profile_image_peak_bytes(header) >= plh_dump_min_peak ||
		plh_profile_image_counted_bytes(header) >= plh_dump_min_peak;
}

#endif							/* PLH_DUMP_WORTH_H */
