/*
 * child_deaths.h
 *	  Notes in the postmaster how its children die, and then in the profiles that they leave, of
 *	  which it removes what is too much.
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
