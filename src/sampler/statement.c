/*
 * statement.c
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
#include "base/settings.h"
#include "profile/profile.h"
#include "sampler/statement.h"

/*
 * The last answer, and the statement for which it was given.  The address of a
 * text does not identify the statement, as the next text may well lie at the
 * same place; together with the start of the statement it does.
 */
static uint32 cached_offset;
static const char *cached_text;
static uint64 cached_query_id;
static TimestampTz cached_start;

/*
 * Returns the offset of the running top-level statement in the profile; 0 if
 * none is running, none should be tracked, or the profile is full.
 */
uint32
plh_statement_current(void)
{
	const char *text = debug_query_string;
	uint64		query_id;
	TimestampTz start;

	Assert(CritSectionCount == 0);
	if (!plh_track_queries || text == NULL)
		return 0;

	query_id = pgstat_get_my_query_id();
	start = GetCurrentStatementStartTimestamp();
	if (cached_offset == 0 || text != cached_text ||
		query_id != cached_query_id || start != cached_start)
	{
		cached_offset = plh_profile_statement(query_id, text);
		cached_text = text;
		cached_query_id = query_id;
		cached_start = start;
	}
	return cached_offset;
}

/*
 * Forget the answer in a forked child: it was about the parent's profile.
 */
PLH_EVERY_PROCESS void
plh_statement_forget(void)
{
	cached_offset = 0;
}
