/*
 * age_text.h
 *	  How old is what a call site holds, in a sentence.
 *
 * Never called inside palloc.
 */
#ifndef PLH_AGE_TEXT_H
#define PLH_AGE_TEXT_H

#include "judge/suspect_list.h"
#include "profile/profile_image.h"

/*
 * The sentence on a finding at a single call site; NULL where its ages are not known, or
 * tell nothing.  "now" is when the figures were true.
 */
extern const char *plh_age_text(const PlhSuspect *suspect,
								const PlhProfileImage *image, TimestampTz now);

#endif							/* PLH_AGE_TEXT_H */
