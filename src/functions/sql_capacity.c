/*
 * sql_capacity.c
 *	  The functions of SQL about how many connections this host bears.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"
#include "fmgr.h"
#include "storage/fd.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "base/settings.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/shared_directory.h"
#include "reader/capacity_file.h"
#include "reader/statement_list.h"
#include "telling/capacity_advice.h"

PLH_FUNCTION(pg_leakhunt_capacity);
PLH_FUNCTION(pg_leakhunt_capacity_reset);

static Interval *
interval_of(int64 us)
{
	return DatumGetIntervalP(DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(us),
												 TimestampTzGetDatum(0)));
}

static char *
answer_in_words(const PlhCapacityAnswer *answer, const PlhCapacityRecord *record,
				const PlhSessionRoom *room)
{
	PlhSaid		said;

	plh_sentences_begin(&said);
	plh_capacity_advice_say(&said, answer, record, room);
	return said.text.data;
}

static void
put_answer(const PlhCapacityAnswer *answer, const PlhCapacityRecord *record,
		   const PlhSessionRoom *room, PlhRowSink *sink)
{
	const PlhCapacityKind *kind = answer->kind;
	const PlhCapacityGrowth *growth = &answer->growth;
	const PlhCapacityTogether *together = answer->together;
	const PlhCapacityConnections *connections = &answer->connections;
	PlhRow		row = {0};

#include "functions/columns/capacity.def"
	plh_sql_rows_finish(&row, sink);
}

/* The highest peak of a statement of a role, or, without one, of any; -1: there is none. */
static int64
highest_of(const PlhStatementPeaks *peaks, Oid role)
{
	PlhStatementEntry *entry = palloc(sizeof(PlhStatementEntry));
	int64		bytes = -1;

	for (int i = 0; i < peaks->count && bytes < 0; i++)
		if (!OidIsValid(role) ||
			(plh_statement_list_copy(entry, peaks->peaks[i].index) && entry->role_oid == role))
			bytes = peaks->peaks[i].bytes;
	pfree(entry);
	return bytes;
}

static void
answer_kind(PlhCapacityAnswer *answer, const PlhCapacityKind *kind, const PlhCapacityRoom *room)
{
	answer->kind = kind;
	answer->together = &kind->together;
	answer->sessions = plh_capacity_sessions_now(kind);
	answer->sessions_seen = kind->sessions_seen;
	answer->growth = plh_capacity_growth(kind);
	answer->connections = plh_capacity_of_kind(kind, room);
	answer->saved_bytes = plh_capacity_saved(kind, answer->lifetime_us);
}

/* All kinds: what they have, and would have less, is added up. */
static void
answer_all(PlhCapacityAnswer *answer, const PlhCapacityRecord *record,
		   const PlhCapacityRoom *room)
{
	answer->together = &record->together;
	answer->sessions_seen = -1;
	answer->growth = plh_capacity_growth_of_all(record);
	answer->connections = plh_capacity_of_all(record, room);
	answer->saved_bytes = answer->growth.is_known ? 0 : -1;
	for (uint32 i = 0; i < record->kind_count; i++)
	{
		const PlhCapacityKind *kind = &record->kinds[i];

		answer->sessions += plh_capacity_sessions_now(kind);
		if (answer->growth.is_known)
			answer->saved_bytes += Max(0, plh_capacity_saved(kind, answer->lifetime_us));
	}
}

/* qsort comparator of kinds: those first whose sessions took most. */
static int
compare_kinds(const void *a, const void *b)
{
	const PlhCapacityKind *left = *(const PlhCapacityKind *const *) a;
	const PlhCapacityKind *right = *(const PlhCapacityKind *const *) b;
	double		left_bytes = left->together.sessions * plh_capacity_growth(left).bytes;
	double		right_bytes = right->together.sessions * plh_capacity_growth(right).bytes;

	return left_bytes > right_bytes ? -1 : left_bytes < right_bytes;
}

static void
put_kinds(const PlhCapacityRecord *record, const PlhCapacityRoom *for_sessions,
		  const PlhSessionRoom *room, int64 lifetime_us, PlhRowSink *sink)
{
	const PlhCapacityKind *kinds[PLH_CAPACITY_KINDS];
	const PlhStatementPeaks *peaks = plh_statement_list_peaks();
	PlhCapacityAnswer all = {.lifetime_us = lifetime_us};

	if (sink->sees_all)
	{
		answer_all(&all, record, for_sessions);
		all.highest_bytes = highest_of(peaks, InvalidOid);
		put_answer(&all, record, room, sink);
	}
	for (uint32 i = 0; i < record->kind_count; i++)
		kinds[i] = &record->kinds[i];
	qsort(kinds, record->kind_count, sizeof(kinds[0]), compare_kinds);
	for (uint32 i = 0; i < record->kind_count; i++)
	{
		PlhCapacityAnswer answer = {.lifetime_us = lifetime_us};

		if (!plh_sql_access_may_see(kinds[i]->role))
			continue;
		answer_kind(&answer, kinds[i], for_sessions);
		answer.highest_bytes = highest_of(peaks, kinds[i]->role);
		put_answer(&answer, record, room, sink);
	}
}

static void
path_of(char *path, const char *suffix)
{
	plh_capacity_file_path(path, plh_profile_directory_path(), GetSystemIdentifier(), suffix);
}

/* Others may have put another directory in its place. */
static bool
has_own_directory(void)
{
	return plh_shared_directory_check(plh_profile_directory_path()) == PLH_DIRECTORY_FINE;
}

/* What the keeper has seen; an empty record where that is nothing, or is to be forgotten. */
static PlhCapacityRecord *
read_record(void)
{
	PlhCapacityRecord *record = palloc0(sizeof(PlhCapacityRecord));
	char		path[PLH_PATH_MAX];
	const char *problem;
	bool		found;

	path_of(path, PLH_CAPACITY_RESET);
	if (!has_own_directory() || access(path, F_OK) == 0)
		return record;
	path_of(path, "");
	found = plh_capacity_file_read(path, GetSystemIdentifier(), record, &problem);
	if (!found && plh_process_is_preloaded())
	{
		/* the keeper of a server that has just started has not looked yet */
		plh_capacity_file_path(path, plh_load_settings.dump_directory, GetSystemIdentifier(), "");
		found = plh_capacity_file_read(path, GetSystemIdentifier(), record, &problem);
	}
	if (found && problem != NULL)
		ereport(WARNING, (errmsg("file \"%s\" cannot be used", path),
						  errdetail_internal("%s", problem),
						  errhint("The keeper of pg_leakhunt replaces it at its next look.")));
	return record;
}

/*
 * pg_leakhunt_capacity(lifetime): what sessions grow to, and how many connections there may be.
 */
Datum
pg_leakhunt_capacity(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	PlhSessionRoom room;
	PlhCapacityRoom for_sessions = {.bytes = -1};
	PlhCapacityRecord *record;
	int64		lifetime_us;

	plh_sql_rows_check_arguments(fcinfo, 1);
	lifetime_us = PG_ARGISNULL(0) ? 0 : plh_sql_arguments_duration(fcinfo, 0, "lifetime");
	plh_sql_rows_start(fcinfo, &sink);
	if (!plh_sql_source_publish_and_save())
		return (Datum) 0;
	record = read_record();
	plh_session_room_read(&room, plh_profile_directory_path());
	if (room.limit_bytes > 0)
	{
		for_sessions.bytes = room.room_bytes;
		for_sessions.once_bytes = room.once_bytes;
	}
	put_kinds(record, &for_sessions, &room, lifetime_us, &sink);
	return (Datum) 0;
}

/*
 * pg_leakhunt_capacity_reset(): have the keeper forget what it has seen.
 */
Datum
pg_leakhunt_capacity_reset(PG_FUNCTION_ARGS)
{
	char		path[PLH_PATH_MAX];
	int			fd;

	plh_sql_rows_check_arguments(fcinfo, 0);
	plh_sql_source_check_active();
	if (!has_own_directory())
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("directory \"%s\" is gone, or others may enter it",
							   plh_profile_directory_path()),
						errhint("Remove what has its name; the server makes it again.")));
	path_of(path, PLH_CAPACITY_RESET);
	fd = OpenTransientFile(path, O_WRONLY | O_CREAT | O_NOFOLLOW);
	if (fd < 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not create file \"%s\": %m", path)));
	CloseTransientFile(fd);
	PG_RETURN_VOID();
}
