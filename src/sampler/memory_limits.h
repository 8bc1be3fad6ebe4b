/*
 * memory_limits.h
 *	  What the settings of the process allow a statement to take.
 */
#pragma once

#include "profile/profile_layout.h"

extern void plh_memory_limits_note(PlhProfileHeader *header);
