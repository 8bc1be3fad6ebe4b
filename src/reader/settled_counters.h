/*
 * settled_counters.h
 *	  Counters of a profile that its owner was changing while they were read.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SETTLED_COUNTERS_H
#define PLH_SETTLED_COUNTERS_H

#include "profile/profile_layout.h"

/*
 * Reads the counters of a header, or of sites of a profile, once more from the open
 * file until they are those between two changes.  "bytes" of the profile are there;
 * change number "since" was the last one before they were copied.  A change that is
 * not finished soon, as its process has been stopped or killed, is left as it is.
 */
extern void plh_settled_counters_read_header(int fd, PlhProfileHeader *header);
extern void plh_settled_counters_read_sites(int fd, PlhProfileHeader *header,
											Size bytes, uint64 since);

#endif							/* PLH_SETTLED_COUNTERS_H */
