/*
 * session_peaks.c
 *	  Of each session, the call that took most, as far as no other session's call of the
 *	  same statement took more.
 */
#include "postgres.h"

#include "reader/session_peaks.h"

const PlhStatementEntry *
plh_session_peaks_find(const PlhStatementPeaks *peaks, int pid, TimestampTz started_at,
					   TimestampTz since)
{
	PlhStatementEntry *entry = palloc(sizeof(PlhStatementEntry));

	for (int i = 0; i < peaks->count; i++)
	{
		if (peaks->peaks[i].pid == pid &&
			plh_statement_list_copy(entry, peaks->peaks[i].index) &&
			entry->max_pid == pid && entry->max_start >= started_at && entry->max_at >= since)
			return entry;
	}
	pfree(entry);
	return NULL;
}
