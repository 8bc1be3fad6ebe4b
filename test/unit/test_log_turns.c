/*
 * test_log_turns.c
 *	  How many exits of a role the log tells, and what it says of the others.
 *
 * The tests say what time it is.
 */
#include "postgres.h"

#include "base/clock.h"

static int64 this_time(clockid_t clock);

#define plh_clock_us this_time
#include "process/log_turns.c"
#undef plh_clock_us

#include "unit_tests.h"

#define ROLE 16384
#define BEGIN_S INT64CONST(1764000000)

static int64 now_s;

static int64
this_time(clockid_t clock)
{
	return now_s * USECS_PER_SEC + 999999;
}

/* Exits of a role.  Returns how many are told; "turn" is that of the last one. */
static int
exits(Oid role, int count, PlhLogTurn *turn)
{
	int			told = 0;

	for (int i = 0; i < count; i++)
		told += plh_log_turns_take(role, turn);
	return told;
}

static void
test_minutes(void)
{
	PlhLogTurn	turn;

	ok(exits(ROLE, PLH_LOG_TURNS, &turn) == PLH_LOG_TURNS && turn.is_last &&
	   turn.ends_at == timestamp_of(BEGIN_S + 60),
	   "the last turn says until when there are no more");
	now_s += 59;
	ok(exits(ROLE, 30, &turn) == 0, "in its minute a role has no more turns");
	ok(exits(ROLE + 1, 1, &turn) == 1 && !turn.is_last && turn.left_out == 0,
	   "another role has turns of its own");
	now_s++;
	ok(exits(ROLE, 1, &turn) == 1 && turn.left_out == 30 && !turn.is_last &&
	   turn.left_out_from == timestamp_of(BEGIN_S),
	   "the next turn tells how many exits were left out, and since when");
	ok(exits(ROLE, 1, &turn) == 1 && turn.left_out == 0, "this is told once");
	ok(exits(ROLE, 1000, &turn) == PLH_LOG_TURNS - 2, "the next minute has as many turns");
	now_s -= 30;
	ok(exits(ROLE, 1, &turn) == 0, "a clock that is a little behind begins no minute");
	now_s -= 3600;
	ok(exits(ROLE, 1, &turn) == 1, "one that was set back does");
}

static void
test_places(void)
{
	PlhLogTurn	turn;
	int			told = 0;

	/* two have places already */
	for (int i = 2; i < PLH_CONTROL_LOG_PLACES; i++)
		told += exits(ROLE + i, 1, &turn) == 1 && !turn.is_shared;
	ok(told == PLH_CONTROL_LOG_PLACES - 2, "many roles have places of their own");
	ok(exits(ROLE + 100, 6, &turn) == 6 && turn.is_shared &&
	   exits(ROLE + 101, 6, &turn) == PLH_LOG_TURNS - 6 && turn.is_shared,
	   "roles beyond these share their turns");
	ok(exits(InvalidOid, 1, &turn) == 0 && turn.is_shared, "so do processes without a role");
	ok(exits(ROLE + 2, 20, &turn) == PLH_LOG_TURNS - 1, "roles with a place keep their turns");

	now_s += 60;
	for (int i = 0; i < PLH_CONTROL_LOG_PLACES - 1; i++)
		told += exits(ROLE + 200 + i, 1, &turn) == 1 && !turn.is_shared;
	ok(told == 2 * PLH_CONTROL_LOG_PLACES - 3, "places whose minute is over go to other roles");
	ok(exits(ROLE + 2, 1, &turn) == 1 && turn.left_out == 11, "a place with something to tell goes last");
	now_s += 60;
	for (int i = 0; i < PLH_CONTROL_LOG_PLACES; i++)
		(void) exits(ROLE + 300 + i, 20, &turn);
	now_s += 60;
	ok(exits(ROLE, 1, &turn) == 1 && !turn.is_shared && turn.left_out == 0,
	   "a place with something to tell goes if there is no other");
}

void
test_log_turns(void)
{
	PlhControlFile *former = plh_control_file;
	PlhLogTurn	turn;

	now_s = BEGIN_S;
	plh_control_file = NULL;
	ok(exits(ROLE, 100, &turn) == 100 && turn.left_out == 0 && !turn.is_last,
	   "without the file all exits are told");
	plh_control_file = calloc(1, sizeof(PlhControlFile));
	test_minutes();
	memset(&plh_control_file->log, 0, sizeof(plh_control_file->log));
	now_s = BEGIN_S;
	(void) exits(ROLE, 1, &turn);
	(void) exits(ROLE + 1, 1, &turn);
	test_places();
	free(plh_control_file);
	plh_control_file = former;
}
