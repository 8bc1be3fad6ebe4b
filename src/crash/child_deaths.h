/*
 * child_deaths.h
 *	  Notes how children die in the profiles that they leave, and removes what is too much.
 *
 * Never called inside palloc.
 */
#pragma once

#include "crash/crashed_profiles.h"
#include "profile/profile_layout.h"

/* Called once, in the postmaster, while it loads the module. */
extern void plh_child_deaths_start(void);

/* Note in a profile that the log has its process' death, so that nobody reports it again. */
extern void plh_child_deaths_note_reported(const PlhCrashedProfile *profile, const PlhDeath *death);
