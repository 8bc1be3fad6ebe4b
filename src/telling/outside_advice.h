/*
 * outside_advice.h
 *	  What to do about memory outside of contexts, which libraries have from malloc or
 *	  have mapped, in a few sentences.
 *
 * Never called inside palloc.
 */
#ifndef PLH_OUTSIDE_ADVICE_H
#define PLH_OUTSIDE_ADVICE_H

#include "profile/profile_image.h"

/* Where to look first, in a session that is there, or has ended. */
extern const char *plh_outside_advice_where(const PlhProfileImage *image);

/* The same of a session of which no more is known than that it runs a statement. */
extern const char *plh_outside_advice_of_running(int pid);

/* "of_running": most came while a statement ran that still runs, or may have done so. */
extern const char *plh_outside_advice_of_malloc(const PlhProfileImage *image,
												bool of_running);
extern const char *plh_outside_advice_of_mapped(const PlhProfileImage *image,
												bool of_running);

/* How to see the call sites of malloc; NULL where they are known. */
extern const char *plh_outside_advice_sites(const PlhProfileHeader *header);

/* Where functions of a language keep values beyond a call. */
extern const char *plh_outside_advice_store(const char *language);

#endif							/* PLH_OUTSIDE_ADVICE_H */
