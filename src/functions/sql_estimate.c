/*
 * sql_estimate.c
 *	  The function of SQL that estimates what a statement would take, without running it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/dsm_impl.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "plan/estimate_rows.h"
#include "profile/statements_file.h"
#include "reader/shared_segments.h"

PLH_FUNCTION(pg_leakhunt_estimate);

static void
put_row(const PlhEstimateRow *part, PlhRowSink *sink)
{
	PlhRow		row = {0};

#include "functions/columns/estimate.def"
	plh_sql_rows_finish(&row, sink);
}

/* What the server has reserved at its start is used before /dev/shm. */
static PlhShmRoom
room_of(const PlhRowSink *sink)
{
	PlhShmRoom	room = {.is_used = dynamic_shared_memory_type == DSM_IMPL_POSIX};
	int64		used;

	if (!sink->sees_all || !room.is_used)
		return room;
	plh_shared_segments_room(&room.size, &used);
	room.free = room.size - used;
	return room;
}

Datum
pg_leakhunt_estimate(PG_FUNCTION_ARGS)
{
	const char *text;
	PlhEstimatedQuery *query;
	PlhSeenCalls seen;
	PlhShmRoom	room;
	PlhRowSink	sink;
	ListCell   *cell;

	plh_sql_rows_check_arguments(fcinfo, 1);
	text = plh_sql_arguments_required_text(fcinfo, 0, "query");
	plh_sql_rows_start(fcinfo, &sink);
	query = plh_estimated_query_make(text);
	plh_seen_calls_read(&seen, query->query_id, query->text, query->text_bytes,
						plh_sql_access_may_see);
	room = room_of(&sink);
	foreach(cell, plh_estimate_rows_make(query, plh_statements_file == NULL ? NULL : &seen, &room))
		put_row(lfirst(cell), &sink);
	return (Datum) 0;
}
