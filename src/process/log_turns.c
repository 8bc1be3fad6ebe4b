/*
 * log_turns.c
 *	  How many exits of a role, findings, and processes beyond a limit the server's log may tell
 *	  in a minute.
 *
 * The file of requests has a place for each of some roles.  A place is a role and its minute: when
 * that began, turns taken, and exits left out, packed into one word.  Processes that exit at a time
 * each change the word as a whole, by a compare and exchange; nobody takes a lock.
 *
 * A role takes the place of one whose minute is over.  It first takes the word, so that two never
 * get one place, and then writes its name.  If the process dies in between, the former role has a
 * new minute.
 *
 * If there is no place, or no role, exits share the turns of one more place.  Findings have a place
 * of their own, and so have limits.  Without the file, all are told.
 */
#include "postgres.h"

#include "base/clock.h"
#include "process/log_turns.h"
#include "sampler/control_file.h"

/* A role gets new turns after this time. */
#define MINUTE_SECONDS 60

/* The parts of the word, from its lowest bits on. */
#define LEFT_OUT_BITS 24
#define TAKEN_BITS 8
#define MAX_LEFT_OUT (((uint32) 1 << LEFT_OUT_BITS) - 1)
#define MAX_TAKEN (((uint32) 1 << TAKEN_BITS) - 1)

typedef struct Minute
{
	uint32		began_s;		/* since 1970; 0: never used */
	uint32		taken;
	uint32		left_out;
} Minute;

StaticAssertDecl(PLH_LOG_TURNS <= MAX_TAKEN, "turns do not fit in their bits");

static Minute
unpack(uint64 word)
{
	Minute		minute;

	minute.began_s = (uint32) (word >> (LEFT_OUT_BITS + TAKEN_BITS));
	minute.taken = (uint32) (word >> LEFT_OUT_BITS) & MAX_TAKEN;
	minute.left_out = (uint32) word & MAX_LEFT_OUT;
	return minute;
}

static uint64
pack(const Minute *minute)
{
	return (uint64) minute->began_s << (LEFT_OUT_BITS + TAKEN_BITS) |
		(uint64) minute->taken << LEFT_OUT_BITS | minute->left_out;
}

/*
 * Returns true if a minute is over.  Another process' clock may be a second ahead of ours; a minute
 * that begins much later is from before the clock was set back.
 */
static bool
is_over(const Minute *minute, uint32 now_s)
{
	int64		age_s = (int64) now_s - minute->began_s;

	return age_s >= MINUTE_SECONDS || age_s < -MINUTE_SECONDS;
}

/*
 * Take the place of a role whose minute is over.  A place with exits that are still to be told is
 * taken only if "untold" says so.
 */
static PlhControlLogPlace *
take_place(PlhControlLog *log, Oid role, uint32 now_s, bool untold)
{
	const Minute fresh = {.began_s = now_s};

	for (int i = 0; i < PLH_CONTROL_LOG_PLACES; i++)
	{
		PlhControlLogPlace *place = &log->places[i];
		uint64		word = pg_atomic_read_u64(&place->minute);
		Minute		minute = unpack(word);

		if (is_over(&minute, now_s) && (untold || minute.left_out == 0) &&
			pg_atomic_compare_exchange_u64(&place->minute, &word, pack(&fresh)))
		{
			pg_atomic_write_u32(&place->role, role);
			return place;
		}
	}
	return NULL;
}

static PlhControlLogPlace *
place_of(PlhControlLog *log, Oid role, uint32 now_s)
{
	PlhControlLogPlace *place;

	if (!OidIsValid(role))
		return &log->shared;
	for (int i = 0; i < PLH_CONTROL_LOG_PLACES; i++)
	{
		if (pg_atomic_read_u32(&log->places[i].role) == role)
			return &log->places[i];
	}
	place = take_place(log, role, now_s, false);
	if (place == NULL)
		place = take_place(log, role, now_s, true);
	return place != NULL ? place : &log->shared;
}

/* Returns a minute as it is after one more exit, or finding. */
static Minute
count_one(const Minute *before, uint32 now_s)
{
	const Minute first = {.began_s = now_s,.taken = 1};
	Minute		after = *before;

	if (is_over(before, now_s))
		return first;
	if (before->taken < PLH_LOG_TURNS)
		after.taken++;
	else
		after.left_out = Min(before->left_out + 1, MAX_LEFT_OUT);
	return after;
}

/* Returns a time that was counted in seconds since 1970. */
static TimestampTz
timestamp_of(int64 seconds)
{
	return seconds * USECS_PER_SEC - PLH_UNIX_EPOCH_US;
}

/* Take a turn of a place, if it has one left. */
static bool
take(PlhControlLogPlace *place, uint32 now_s, PlhLogTurn *turn)
{
	uint64		word = pg_atomic_read_u64(&place->minute);
	uint64		new_word;
	Minute		before;
	Minute		after;

	do
	{
		before = unpack(word);
		after = count_one(&before, now_s);
		new_word = pack(&after);
	} while (!pg_atomic_compare_exchange_u64(&place->minute, &word, new_word));

	turn->is_shared = place == &plh_control_file->log.shared;
	turn->is_last = after.taken == PLH_LOG_TURNS;
	turn->ends_at = timestamp_of((int64) after.began_s + MINUTE_SECONDS);
	turn->left_out = after.left_out == 0 ? before.left_out : 0;
	turn->left_out_from = timestamp_of(before.began_s);
	return after.left_out == 0;
}

static uint32
now_seconds(void)
{
	return (uint32) (plh_clock_us(CLOCK_REALTIME) / USECS_PER_SEC);
}

bool
plh_log_turns_take(Oid role, PlhLogTurn *turn)
{
	uint32		now_s = now_seconds();

	memset(turn, 0, sizeof(*turn));
	return plh_control_file == NULL ||
		take(place_of(&plh_control_file->log, role, now_s), now_s, turn);
}

/* Take a turn of a place that is of no role, NULL without the file. */
static bool
take_of_all(PlhControlLogPlace *place, PlhLogTurn *turn)
{
	memset(turn, 0, sizeof(*turn));
	return place == NULL || take(place, now_seconds(), turn);
}

bool
plh_log_turns_take_finding(PlhLogTurn *turn)
{
	return take_of_all(plh_control_file == NULL ? NULL : &plh_control_file->log.findings, turn);
}

bool
plh_log_turns_take_limit(PlhLogTurn *turn)
{
	return take_of_all(plh_control_file == NULL ? NULL : &plh_control_file->log.limits, turn);
}
