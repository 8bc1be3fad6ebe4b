/*
 * current_site.c
 *	  The statement that this process is running, as its profile knows it.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"

#include "base/page_layout.h"
#include "sampler/current_site.h"
#include "sampler/statement_peaks.h"

/*
 * The last answer, and the statement for which it was given.  The address of a
 * text does not identify the statement, as the next text may well lie at the
 * same place; together with the start of the statement it does.
 */
static struct
{
	uint32		offset;			/* 0: none */
	const char *text;
	uint64		query_id;
	TimestampTz start;
}			state;

/*
 * The statement may be another one.  Its query id is known only when it has been
 * analyzed.
 */
static void
look_up(const char *text, uint64 query_id, TimestampTz start)
{
	bool		is_same = text == state.text && start == state.start &&
		(state.query_id == query_id || state.query_id == 0);

	if (!is_same)
		plh_statement_peaks_end();
	state.offset = plh_profile_statement(query_id, text);
	state.text = text;
	state.query_id = query_id;
	state.start = start;
	if (is_same)
		plh_statement_peaks_rename(state.offset);
	else
	{
		plh_profile->transaction_began_at = GetCurrentTransactionStartTimestamp();
		plh_statement_peaks_begin(state.offset, start);
	}
}

/*
 * Returns the offset of the running top-level statement in the profile; 0 if
 * none is running, none should be tracked, or the profile is full.
 */
uint32
plh_current_site_statement(void)
{
	const char *text = debug_query_string;
	uint64		query_id;
	TimestampTz start;

	Assert(CritSectionCount == 0);
	if (!plh_track_queries || text == NULL)
	{
		plh_statement_peaks_pause();
		return 0;
	}

	query_id = pgstat_get_my_query_id();
	start = GetCurrentStatementStartTimestamp();
	if (state.offset == 0 || text != state.text ||
		query_id != state.query_id || start != state.start)
		look_up(text, query_id, start);
	else
		plh_statement_peaks_go_on();
	return state.offset;
}

/*
 * Forget the answer in a forked child: it was about the parent's profile.
 */
PLH_EVERY_PROCESS void
plh_current_site_forget(void)
{
	memset(&state, 0, sizeof(state));
}
