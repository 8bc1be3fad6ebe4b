/*
 * session_peaks.h
 *	  Of each session, the call that took most, as far as no other session's call of the
 *	  same statement took more.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SESSION_PEAKS_H
#define PLH_SESSION_PEAKS_H

#include "reader/statement_list.h"

/*
 * The entry of the highest peak of a process that began then, in calls since that time;
 * NULL if there is none.  It is a copy in the current memory context.
 */
extern const PlhStatementEntry *plh_session_peaks_find(const PlhStatementPeaks *peaks, int pid,
													   TimestampTz started_at, TimestampTz since);

#endif							/* PLH_SESSION_PEAKS_H */
