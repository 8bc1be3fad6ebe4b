/*
 * ending_advice.h
 *	  How to free what a process holds by ending its statement, its transaction or the
 *	  process itself, as sentences.
 *
 * Those that begin with a space are to follow others, and are "" where nobody can do
 * that, as to a process that is gone.  Never called inside palloc.
 */
#ifndef PLH_ENDING_ADVICE_H
#define PLH_ENDING_ADVICE_H

#include "profile/profile_image.h"

/* What lasts as long as the process does. */
extern const char *plh_ending_advice_end(const PlhProfileImage *image);
extern const char *plh_ending_advice_end_now(const PlhProfileImage *image);

/* What a process keeps gaining. */
extern const char *plh_ending_advice_recycle(const PlhProfileImage *image);

/* What ends with the statement or transaction, or with a subtransaction. */
extern const char *plh_ending_advice_cancel(const PlhProfileImage *image);
extern const char *plh_ending_advice_subtransactions(const PlhProfileImage *image);

/* What came while a statement ran that still runs. */
extern const char *plh_ending_advice_try_cancel(int pid);

#endif							/* PLH_ENDING_ADVICE_H */
