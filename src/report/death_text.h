/*
 * death_text.h
 *	  Says in words who a process was and how it died.
 *
 * All texts are palloc'd in the current memory context.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

/* As "terminated by signal 9: Killed"; NULL if it lives, or nobody knows. */
extern char *plh_death_text(const PlhDeath *death);

/* As "user "joe", database "shop", application "till""; may be empty. */
extern char *plh_death_text_names(const PlhProfileHeader *header);

/* As "crashed, terminated by signal 9: Killed"; NULL if it did not crash. */
extern const char *plh_death_text_crash(const PlhProfileImage *image);

/* That with the time and the names; NULL for all others. */
extern char *plh_death_text_of_crash(const PlhProfileImage *image);
