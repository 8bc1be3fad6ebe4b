/*
 * test_capacity.c
 *	  What sessions grow to, and how many connections have room: by simulated sessions, of which
 *	  the truth is known.
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"

#include "judge/capacity.h"
#include "judge/capacity_looks.h"

#include "unit_tests.h"

#define MB INT64CONST(1048576)
#define MINUTE INT64CONST(60000000)
#define STEP INT64CONST(5000000)
#define BEGIN ((TimestampTz) 1000 * MINUTE)

/* The most sessions that are simulated. */
#define MOST_SESSIONS 1000

static PlhCapacityRecord record;
static PlhCapacitySession sessions[MOST_SESSIONS];
static TimestampTz now;
static pg_prng_state prng;

static void
begin(void)
{
	now = BEGIN;
	pg_prng_seed(&prng, 53);
	plh_capacity_looks_begin(&record, 1, now);
}

/* What a session keeps at an age, and what its statement takes at this moment. */
typedef int64 (*KeptBytes) (int number, int64 age_us);
typedef int64 (*StatementBytes) (int number);

/* A session at the next look: what it was before has its place if it has left that. */
static void
move_on(int number, int64 age_us, const PlhCapacitySession *next)
{
	PlhCapacitySession *session = &sessions[number];

	plh_capacity_looks_follow(&record, age_us == 0 ? NULL : session, next);
	*session = *next;
}

/* Until that age nobody can tell statements apart from what sessions keep. */
static int64 told_apart_us;

/* Look at so many sessions, all of one role, for so long.  They begin together. */
static void
watch(int count, const char *application, int64 for_us, KeptBytes kept, StatementBytes statement)
{
	for (int64 age = 0; age <= for_us; age += STEP, now += STEP)
	{
		int			kind = plh_capacity_looks_kind(&record, 10, application, now);

		for (int i = 0; i < count; i++)
		{
			PlhCapacitySession next = {
				.kind = kind,.age_us = age,.session_bytes = kept(i, age),
				.statement_bytes = statement(i),.is_told_apart = age >= told_apart_us,
				.is_counted = true
			};

			if (!next.is_told_apart)
			{
				next.session_bytes += next.statement_bytes;
				next.statement_bytes = 0;
			}
			next.is_active = next.statement_bytes > 0;
			next.parts[PLH_CAPACITY_CATALOGS] = next.session_bytes / 2;
			next.parts[PLH_CAPACITY_PLANS] = next.session_bytes / 4;
			move_on(i, age, &next);
		}
		plh_capacity_looks_add(&record, sessions, count, now, age == 0 ? 0 : STEP);
	}
	for (int i = 0; i < count; i++)
		plh_capacity_looks_leave(&record, &sessions[i]);
	plh_capacity_looks_add(&record, sessions, 0, now, 0);
}

/* Caches that fill up: 10 MB, and another 50 within some 20 minutes; sessions differ by 10%. */
static int64
filling(int number, int64 age_us)
{
	double		part = 1 - exp(-(double) age_us / (5 * MINUTE));

	return (10 + 50 * part) * MB * (0.9 + 0.2 * (number % 11) / 10);
}

/* What grows for as long as the session lives: 1 MB each minute. */
static int64
growing(int number, int64 age_us)
{
	return 10 * MB + age_us * MB / MINUTE;
}

static int64
constant(int number, int64 age_us)
{
	return 20 * MB;
}

static int64
idle(int number)
{
	return 0;
}

static int64
large(int number)
{
	return 300 * MB;
}

/* One of ten runs something at each moment, which takes 100 MB. */
static int64
independent(int number)
{
	return pg_prng_double(&prng) < 0.1 ? 100 * MB : 0;
}

/* The same, but all begin at the same time. */
static int64
simultaneous(int number)
{
	static bool runs;

	if (number == 0)
		runs = pg_prng_double(&prng) < 0.1;
	return runs ? 100 * MB : 0;
}

static void
check_growth(void)
{
	PlhCapacityGrowth growth;

	begin();
	watch(55, "fills", 60 * MINUTE, filling, idle);
	growth = plh_capacity_growth(&record.kinds[0]);
	ok(growth.is_known && llabs(growth.bytes - 60 * MB) < MB,
	   "a session whose caches fill up grows to what they have");
	ok(growth.error_bytes > 0 && growth.error_bytes < 3 * MB,
	   "the error is that of a mean of sessions that differ");
	ok(growth.within_us > 10 * MINUTE && growth.within_us <= 20 * MINUTE && !growth.goes_on,
	   "they have it within the age at which caches are full, and rest");
	ok(growth.is_counted && llabs(growth.parts[PLH_CAPACITY_CATALOGS] - growth.bytes / 2) < MB &&
	   llabs(growth.rest_bytes - growth.bytes / 4) < MB,
	   "its parts and the rest are the whole");

	begin();
	watch(5, "grows", 60 * MINUTE, growing, idle);
	growth = plh_capacity_growth(&record.kinds[0]);
	ok(growth.goes_on && llabs(growth.bytes - 70 * MB) <= MB,
	   "one that grows on is told as it was at the oldest age");

	begin();
	watch(20, "pool", 60 * MINUTE, growing, idle);
	for (int i = 0; i < 500; i++)
		watch(20, "pool", STEP, growing, idle);
	growth = plh_capacity_growth(&record.kinds[0]);
	ok(record.kinds[0].sessions_seen == 10020 && growth.bytes > 60 * MB,
	   "thousands of connections that are short do not hide what a pool grows to");

	begin();
	watch(5, "one", 2 * MINUTE, growing, idle);
	watch(1, "one", 60 * MINUTE, growing, idle);
	ok(plh_capacity_growth(&record.kinds[0]).bytes < 15 * MB,
	   "nor does one session that is old make all others so");

	begin();
	told_apart_us = 3 * MINUTE;
	watch(20, "active from the start", 60 * MINUTE, constant, large);
	told_apart_us = 0;
	ok(plh_capacity_growth(&record.kinds[0]).bytes == 20 * MB,
	   "what could not be told apart at first is not what sessions grow to");

	begin();
	watch(2, "few", 60 * MINUTE, filling, idle);
	ok(!plh_capacity_growth(&record.kinds[0]).is_known, "two sessions are too few");
}

static void
check_lifetimes(void)
{
	begin();
	watch(10, "grows", 60 * MINUTE, growing, idle);
	ok(llabs(plh_capacity_mean_until(&record.kinds[0], 30 * MINUTE) - 25 * MB) <= MB,
	   "with a max lifetime sessions have what they have at half of it, where they grow evenly");
	ok(plh_capacity_mean_until(&record.kinds[0], 120 * MINUTE) == -1,
	   "of ages that no session has reached nothing is said");
	ok(plh_capacity_saved(&record.kinds[0], 30 * MINUTE) == 0, "without sessions nothing is saved");
	plh_capacity_looks_add(&record, sessions, 10, now, STEP);
	ok(llabs(plh_capacity_saved(&record.kinds[0], 30 * MINUTE) - 10 * 45 * MB) <= 10 * MB,
	   "what is saved is that of the sessions that there are");
	ok(plh_capacity_saved(&record.kinds[0], 120 * MINUTE) == 0,
	   "a lifetime that no session reaches saves nothing");
}

/* The most that so many sessions have at one of a number of moments. */
static double
most_of(int count, StatementBytes statement, int moments)
{
	double		most = 0;

	for (int moment = 0; moment < moments; moment++)
	{
		double		bytes = 0;

		for (int i = 0; i < count; i++)
			bytes += constant(i, 0) + statement(i);
		most = Max(most, bytes);
	}
	return most;
}

/* Do as many connections as predicted hold, and do some more not? */
static void
check_prediction(int seen, StatementBytes statement, int64 gigabytes, const char *name)
{
	PlhCapacityRoom room = {.bytes = gigabytes * 1024 * MB};
	PlhCapacityConnections all;
	PlhCapacityConnections kind;

	begin();
	watch(seen, "app", 10 * MINUTE, constant, statement);
	kind = plh_capacity_of_kind(&record.kinds[0], &room);
	all = plh_capacity_of_all(&record, &room);
	ok(all.is_known && kind.is_known && all.count == kind.count && all.low <= all.count &&
	   all.count <= all.high &&
	   most_of(all.count * 0.85, statement, 10000) <= room.bytes &&
	   most_of(all.count * 0.95, statement, 1000) <= room.bytes &&
	   most_of(ceil(all.count * 1.15), statement, 10000) > room.bytes, name);
}

static void
check_predictions(void)
{
	check_prediction(60, idle, 4, "sessions that run nothing hold as predicted");
	check_prediction(60, independent, 8,
					 "more sessions than were seen hold within 15%, where statements are independent");
	check_prediction(200, independent, 3, "and fewer");
	check_prediction(60, simultaneous, 16,
					 "and where all begin at the same time, what they take grows with their number");
}

/* A few looks meet hardly any of the moments at which many run something. */
static void
check_moments(void)
{
	PlhCapacityRoom room = {.bytes = 4096 * MB};
	PlhCapacityConnections answer;
	double		deviation;

	begin();
	watch(30, "app", 25 * STEP, constant, independent);
	answer = plh_capacity_of_all(&record, &room);
	deviation = 100 * MB * sqrt(answer.count * 0.1 * 0.9);
	ok(answer.statements_bytes > 10 * MB * answer.count + 3.5 * deviation &&
	   answer.statements_bytes < 10 * MB * answer.count + 6 * deviation,
	   "there is room for moments that no look has met");
}

static void
check_limits_of_prediction(void)
{
	PlhCapacityRoom room = {.bytes = 1024 * MB};
	PlhCapacityRoom unknown = {.bytes = -1};
	PlhCapacityRoom forked = {.bytes = 1000 * MB,.once_bytes = 10 * MB};

	begin();
	watch(10, "app", 10 * STEP, constant, idle);
	ok(!plh_capacity_of_all(&record, &room).is_known, "a few looks are too few");
	begin();
	watch(10, "app", 10 * MINUTE, constant, idle);
	ok(!plh_capacity_of_all(&record, &unknown).is_known,
	   "without knowing the memory there is no prediction");
	ok(plh_capacity_of_all(&record, &forked).count == 100,
	   "what is counted for each, and exists once, is not multiplied");
}

static void
check_kinds(void)
{
	char		name[100];
	int			kind;

	begin();
	for (int i = 0; i < PLH_CAPACITY_KINDS; i++)
	{
		snprintf(name, sizeof(name), "app %d", i);
		ok(plh_capacity_looks_kind(&record, 10, name, now + (i == 7 ? 0 : 1)) == i,
		   "each application is a kind");
	}
	ok(plh_capacity_looks_kind(&record, 11, "app 3", now) == PLH_CAPACITY_NO_KIND,
	   "where all kinds have sessions, another one has no room");
	kind = plh_capacity_looks_kind(&record, 11, "app 3", now + 1);
	ok(kind == 7 && record.forgotten_kinds == 1 && record.kinds[7].role == 11,
	   "later it takes the place of the one that was seen longest ago");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	kind = plh_capacity_looks_kind(&record, 11, name, now + 2);
	ok(kind == plh_capacity_looks_kind(&record, 11, name, now + 2) &&
	   strlen(record.kinds[kind].application) == PLH_CAPACITY_NAME_BYTES - 1,
	   "a long name is cut, and found again");
}

static void
check_restart(void)
{
	int64		sessions_before;

	begin();
	watch(10, "app", 10 * MINUTE, filling, idle);
	plh_capacity_looks_add(&record, sessions, 10, now, STEP);
	sessions_before = plh_capacity_sessions_now(&record.kinds[0]);
	plh_capacity_looks_end_all(&record);
	ok(sessions_before == 10 && plh_capacity_sessions_now(&record.kinds[0]) == 0 &&
	   record.kinds[0].past[plh_capacity_looks_age(10 * MINUTE)].sessions == 20,
	   "when the server ends, sessions of the last look are past");
	ok(record.watched_us == 10 * MINUTE + STEP, "only the time between looks is counted");
}

void
test_capacity(void)
{
	check_growth();
	check_lifetimes();
	check_predictions();
	check_moments();
	check_limits_of_prediction();
	check_kinds();
	check_restart();
}
