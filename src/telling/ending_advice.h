/*
 * ending_advice.h
 *	  How to free what a process holds by ending its statement, its transaction or the process
 *	  itself.
 *
 * What is said of sessions that live is left out where nobody can do that.  Never called inside
 * palloc.
 */
#pragma once

#include "profile/profile_image.h"
#include "telling/sentences.h"

/* What lasts as long as the process does. */
extern void plh_ending_advice_end(PlhSaid *said, const PlhProfileImage *image);
extern void plh_ending_advice_end_now(PlhSaid *said, const PlhProfileImage *image);

/* What a process keeps gaining. */
extern void plh_ending_advice_recycle(PlhSaid *said, const PlhProfileImage *image);

/* What ends with the statement or transaction, or with a subtransaction. */
extern void plh_ending_advice_cancel(PlhSaid *said, const PlhProfileImage *image);
extern void plh_ending_advice_subtransactions(PlhSaid *said, const PlhProfileImage *image);

/* What came while a statement ran that still runs. */
extern void plh_ending_advice_try_cancel(PlhSaid *said, int pid);
