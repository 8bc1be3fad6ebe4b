/*
 * child_deaths.h
 *	  Notes in the postmaster how its children die, and then in the profiles that they leave.
 *
 * Never called inside palloc, and in the postmaster only, but for plh_child_deaths_note_reported.
 */
#pragma once

#include "nodes/pg_list.h"

#include "crash/crashed_profiles.h"
#include "profile/profile_layout.h"

/* Called once, while the postmaster loads the module. */
extern void plh_child_deaths_start(void);

/* Has a child died for which all others are being ended? */
extern bool plh_child_deaths_has_cause(void);

/*
 * To be called with a list of PlhCrashedProfile after a crash, when the postmaster is the only
 * process.  A profile that can't be written to stays as it is.
 */
extern void plh_child_deaths_note(const List *profiles);

extern void plh_child_deaths_note_reported(const PlhCrashedProfile *profile, const PlhDeath *death);
