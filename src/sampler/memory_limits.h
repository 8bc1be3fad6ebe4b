/*
 * memory_limits.h
 *	  What the settings of the process allow a statement to take.
 */
#ifndef PLH_MEMORY_LIMITS_H
#define PLH_MEMORY_LIMITS_H

#include "profile/profile_layout.h"

extern void plh_memory_limits_note(PlhProfileHeader *header);

#endif							/* PLH_MEMORY_LIMITS_H */
