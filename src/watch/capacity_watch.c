/*
 * capacity_watch.c
 *	  Looks at all sessions for what they have grown to, and what their statements take together.
 *
 * All looks together take a part of a processor: a session that stays idle costs next to nothing,
 * and after a look there is a pause of so many times the processor time that it took.  What takes
 * longer than to ask for the private memory is read of a few sessions in each look, in turns.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/backend_status.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/limits.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "judge/capacity_looks.h"
#include "process/capacity_dump.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "profile/shared_directory.h"
#include "reader/capacity_file.h"
#include "reader/collections.h"
#include "reader/profile_reader.h"
#include "watch/capacity_watch.h"
#include "watch/session_memory.h"

/* The shortest pause between two looks, and the part of a processor that they may use. */
#define PAUSE_US INT64CONST(4500000)
#define PROCESSOR_PART 4000

/* In each look, one of so many sessions is counted, and at least so many. */
#define COUNTED_PART 12
#define COUNTED_LEAST 8

typedef struct WatchedSession
{
	int			pid;			/* the key */
	TimestampTz started_at;
	int64		look;			/* number of the last that saw it */
	int64		counted_in;		/* number of the look that counted it; 0: none */
	PlhSessionMemory memory;
	PlhCapacitySession seen;	/* by the last look */
} WatchedSession;

/* Only the keeper uses this. */
static PLH_SURVIVES_FORK struct
{
	PlhCapacityRecord *record;
	HTAB	   *sessions;
	bool		is_reset;		/* the record is new, as somebody wants, and
								 * is not published yet */
	int64		look;			/* number of this one */
	int64		looked_us;		/* when it began, monotonic; 0: never */
	int64		next_us;		/* the next may begin then */
}			state;

/* The sessions of one look. */
typedef struct Look
{
	TimestampTz now;
	int			count;
	int			room;
	PlhCapacitySession *sessions;
} Look;

static WatchedSession *
find_session(int pid, TimestampTz started_at)
{
	bool		found;
	WatchedSession *session = hash_search(state.sessions, &pid, HASH_ENTER, &found);

	if (found && session->started_at == started_at)
		return session;
	if (found && session->look != 0)
		plh_capacity_looks_leave(state.record, &session->seen);
	memset(session, 0, sizeof(*session));
	session->pid = pid;
	session->started_at = started_at;
	return session;
}

static void
see_session(Look *look, const PlhServerActivity *activity)
{
	WatchedSession *session = find_session(activity->pid, activity->started_at);
	PlhCapacitySession seen = {
		.kind = plh_capacity_looks_kind(state.record, activity->role_oid,
										activity->application_name, look->now),
		.age_us = Max(0, look->now - activity->started_at)
	};

	if (!plh_session_memory_read(&session->memory, plh_profile_directory_path(), activity, &seen))
		return;
	plh_capacity_looks_follow(state.record, session->look == 0 ? NULL : &session->seen, &seen);
	session->seen = seen;
	session->look = state.look;
}

/* What a parallel worker has is its leader's statement's. */
static void
see_worker(const PlhServerActivity *activity)
{
	WatchedSession *leader = hash_search(state.sessions, &activity->leader_pid, HASH_FIND, NULL);

	if (leader != NULL && leader->look == state.look)
		leader->seen.statement_bytes += Max(0, plh_process_facts_rss_anon_bytes(activity->pid));
}

/* Since PostgreSQL 18, others are shown as well. */
static bool
has_logged_in(const PlhServerActivity *activity)
{
	return OidIsValid(activity->role_oid);
}

static void
see_all(Look *look)
{
	int			count = plh_server_activity_count();
	PlhServerActivity activity;

	for (int i = 0; i < count; i++)
		if (plh_server_activity_at(i, &activity) && activity.is_client && has_logged_in(&activity))
			see_session(look, &activity);
	for (int i = 0; i < count; i++)
		if (plh_server_activity_at(i, &activity) && activity.leader_pid != 0)
			see_worker(&activity);
}

/* Count those whose turn it is: those that were counted longest ago. */
static void
count_some(int sessions)
{
	int64		turns = Max(COUNTED_LEAST, sessions / COUNTED_PART);
	int64		before = state.look - sessions / turns;
	HASH_SEQ_STATUS scan;
	WatchedSession *session;

	hash_seq_init(&scan, state.sessions);
	while ((session = hash_seq_search(&scan)) != NULL)
	{
		if (turns == 0 || session->look != state.look ||
			(session->counted_in != 0 && session->counted_in >= before))
			continue;
		session->counted_in = state.look;
		turns--;
		plh_session_memory_count(&session->memory, plh_profile_directory_path(), session->pid);
	}
}

/* Collect those of this look, and forget those that are gone. */
static void
collect(Look *look)
{
	HASH_SEQ_STATUS scan;
	WatchedSession *session;

	hash_seq_init(&scan, state.sessions);
	while ((session = hash_seq_search(&scan)) != NULL)
	{
		if (session->look == state.look)
		{
			look->sessions = plh_array_grow(look->sessions, look->count, &look->room,
											sizeof(PlhCapacitySession));
			look->sessions[look->count++] = session->seen;
			continue;
		}
		if (session->look != 0)
			plh_capacity_looks_leave(state.record, &session->seen);
		hash_search(state.sessions, &session->pid, HASH_REMOVE, NULL);
	}
}

/* Forget all, if somebody wants that; once, if the new record cannot be published at once. */
static void
reset_if_wanted(const char *wanted, TimestampTz now)
{
	if (state.is_reset ||
		plh_shared_directory_check(plh_profile_directory_path()) != PLH_DIRECTORY_FINE ||
		access(wanted, F_OK) != 0)
		return;
	plh_capacity_looks_begin(state.record, GetSystemIdentifier(), now);
	hash_destroy(state.sessions);
	state.sessions = NULL;
	state.is_reset = true;
}

/* Until the new record can be read, the wish keeps everybody from reading the old one. */
static void
end_reset(const char *wanted)
{
	plh_capacity_dump_forget();
	(void) unlink(wanted);
	state.is_reset = false;
}

static void
make_sessions(void)
{
	HASHCTL		control = {
		.keysize = sizeof(int),
		.entrysize = sizeof(WatchedSession),
		.hcxt = TopMemoryContext
	};

	state.sessions = hash_create("pg_leakhunt watched sessions", 64, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * Without room it stays in memory, until there is some; or while the directory is one that others
 * may enter, who have put it in the place of ours.
 */
static bool
publish(void)
{
	const char *directory = plh_profile_directory_path();

	return plh_shared_directory_check(directory) == PLH_DIRECTORY_FINE &&
		plh_shared_directory_has_room(directory, PLH_CAPACITY_BYTES(state.record->kind_count),
									  PLH_ROOM_RECORDS) &&
		plh_capacity_file_write(directory, state.record, false) == 0;
}

/* PlhErrorsWork */
static void
look_at_all(void *arg)
{
	int64		passed_us = *(const int64 *) arg;
	Look		look = {.now = GetCurrentTimestamp(),.room = 64};
	char		wanted[PLH_PATH_MAX];

	look.sessions = palloc(sizeof(PlhCapacitySession) * look.room);
	plh_capacity_file_path(wanted, plh_profile_directory_path(), GetSystemIdentifier(),
						   PLH_CAPACITY_RESET);
	reset_if_wanted(wanted, look.now);
	if (state.sessions == NULL)
		make_sessions();
	state.look++;
	pgstat_clear_backend_activity_snapshot();
	plh_profile_reader_be_silent();
	see_all(&look);
	collect(&look);
	plh_capacity_looks_add(state.record, look.sessions, look.count, look.now, passed_us);
	count_some(look.count);
	pgstat_clear_backend_activity_snapshot();
	if (publish() && state.is_reset)
		end_reset(wanted);
}

/* PlhErrorsWork */
static void
start(void *arg)
{
	state.record = MemoryContextAllocHuge(TopMemoryContext, sizeof(PlhCapacityRecord));
	plh_capacity_looks_begin(state.record, GetSystemIdentifier(), GetCurrentTimestamp());
	plh_capacity_dump_load(state.record);
	plh_capacity_looks_end_all(state.record);
}

void
plh_capacity_watch_start(void)
{
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(start, NULL, "could not read what sessions have grown to");
	RESUME_INTERRUPTS();
}

void
plh_capacity_watch_look(void)
{
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);
	int64		passed_us = state.looked_us == 0 ? 0 : began_us - state.looked_us;
	int64		used_us;

	if (state.record == NULL || began_us < state.next_us)
		return;
	used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID);
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(look_at_all, &passed_us, "could not look at what sessions take");
	RESUME_INTERRUPTS();
	used_us = plh_clock_us(CLOCK_PROCESS_CPUTIME_ID) - used_us;
	state.looked_us = began_us;
	state.next_us = began_us + plh_keeper_time(Max(PAUSE_US, used_us * PROCESSOR_PART));
}
