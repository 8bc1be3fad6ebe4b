/*
 * test_server_limit.c
 *	  Which process the keeper has act where the server is at its memory limit.
 *
 * The tests say which processes there are, what they have, and what time it is.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/proc.h"
#include "storage/procsignal.h"

#include "base/clock.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "logged_line.h"

#define FIRST_PID 201
#define PROCESSES 4
#define MB ((int64) 1024 * 1024)
#define GB (1024 * MB)

static uint32 holdoffs;
static int64 now_us = INT64CONST(1000000000);
static int64 used_us;
static int64 rss_bytes[PROCESSES];
static int	scans;
static int	woken;				/* the last pid */

static int64
clock_stub(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC ? now_us : used_us++;
}

static int64
rss_stub(int pid)
{
	return rss_bytes[pid - FIRST_PID];
}

static int
parent_stub(int pid)
{
	return PostmasterPid;
}

static List *
children_stub(void)
{
	static ListCell cells[PROCESSES];
	static List list = {.type = T_IntList,.length = PROCESSES,.max_length = PROCESSES,.elements = cells};

	scans++;
	for (int i = 0; i < PROCESSES; i++)
		cells[i].int_value = FIRST_PID + i;
	return &list;
}

static int
signal_stub(int pid, ProcSignalReason reason, int backend)
{
	woken = reason == PROCSIG_CATCHUP_INTERRUPT ? pid : 0;
	return 0;
}

static bool
catch_stub(void (*work) (void *arg), void *arg, const char *failure)
{
	work(arg);
	return true;
}

#define InterruptHoldoffCount holdoffs
#define plh_clock_us clock_stub
#define plh_process_facts_rss_anon_bytes rss_stub
#define plh_process_facts_parent parent_stub
#define plh_server_processes_children children_stub
#define plh_errors_catch catch_stub
#define SendProcSignal signal_stub
#include "watch/server_limit.c"

#include "unit_tests.h"

static PlhControlFile control_file;

/* A process has that, and tells it. */
static void
set(int number, int64 bytes, int64 passing_bytes, int action)
{
	PlhControlLimit *place = &control_file.limits[FIRST_PID + number];

	rss_bytes[number] = bytes;
	place->pid = FIRST_PID + number;
	place->own_bytes = bytes;
	place->passing_bytes = passing_bytes;
	place->action = action;
}

/* Look some seconds later. */
static void
look_after(int64 seconds)
{
	now_us += seconds * 1000000;
	plh_server_limit_look();
}

/* Is that process asked for it, and for nothing else, and no other one? */
static bool
is_asked(int number, PlhLimitDemand demand)
{
	bool		is_only = true;

	for (int i = 0; i < PROCESSES; i++)
		for (int d = 0; d < 2; d++)
			is_only &= (pg_atomic_read_u32(&control_file.limits[FIRST_PID + i].asked[d]) != 0) ==
				(i == number && d == (int) demand);
	return is_only && (number < 0 || (woken == FIRST_PID + number && state.asked_pid == woken));
}

#define NOBODY (-1)

static void
begin(void)
{
	memset(&control_file, 0, sizeof(control_file));
	memset(&state, 0, sizeof(state));
	memset(scanned, 0, sizeof(scanned));
	for (int i = 0; i < PROCESSES; i++)
		set(i, 100 * MB, 10 * MB, PLH_LIMIT_ERROR);
	scans = woken = logged_line.count = 0;
}

static void
test_scans(void)
{
	begin();
	plh_server_memory_limit = 0;
	look_after(1);
	ok(scans == 0, "without a limit no process is looked at");
	plh_server_memory_limit = GB;
	look_after(1);
	ok(scans == 1 && is_asked(NOBODY, 0), "with one, all are");
	now_us += 5000;
	plh_server_limit_look();
	ok(scans == 1, "but not while that would take too much of a processor");
	control_file.limits[FIRST_PID].own_bytes += 600 * MB;
	plh_server_limit_look();
	ok(scans == 1, "nor when they tell that they have grown within the limit");
	control_file.limits[FIRST_PID + 1].own_bytes += 100 * MB;
	plh_server_limit_look();
	ok(scans == 2, "but when it may be beyond it");
	plh_server_limit_look();
	ok(scans == 2, "what has grown by less than they told is seen then");
	look_after(1);
	ok(scans == 3, "and all of them again in time");
}

static void
test_statements(void)
{
	begin();
	set(1, 500 * MB, 100 * MB, PLH_LIMIT_ERROR);
	set(2, 450 * MB, 300 * MB, PLH_LIMIT_TERMINATE);
	set(3, 200 * MB, 200 * MB, PLH_LIMIT_LOG);
	look_after(1);
	ok(is_asked(2, PLH_LIMIT_END_STATEMENT), "the one whose statement holds most is asked to end it");
	look_after(2);
	ok(is_asked(2, PLH_LIMIT_END_STATEMENT), "it has some seconds to do so");
	look_after(1);
	ok(is_asked(1, PLH_LIMIT_END_STATEMENT), "if it does not, the next one is asked");
	(void) plh_limit_places_ask_no_more(FIRST_PID + 1);
	look_after(1);
	ok(is_asked(2, PLH_LIMIT_END_STATEMENT), "it is passed over only once");
	set(2, 0, 0, PLH_LIMIT_ERROR);
	look_after(1);
	ok(is_asked(NOBODY, 0) && state.asked_pid == 0, "below the limit, what was asked is taken back");
	ok(logged_line.count == 0, "as long as somebody can act, the keeper logs nothing");
}

static void
test_sessions(void)
{
	begin();
	set(0, 700 * MB, 5 * MB, PLH_LIMIT_ERROR);
	set(1, 120 * MB, 15 * MB, PLH_LIMIT_TERMINATE);
	set(2, 180 * MB, 5 * MB, PLH_LIMIT_TERMINATE);
	look_after(1);
	ok(is_asked(2, PLH_LIMIT_END_SESSION), "where no statement holds enough, the largest session that may be ended is asked");
	set(0, 700 * MB, 17 * MB, PLH_LIMIT_ERROR);
	(void) plh_limit_places_ask_no_more(FIRST_PID + 2);
	look_after(1);
	ok(is_asked(0, PLH_LIMIT_END_STATEMENT), "but a statement that holds enough goes first");
}

static void
test_nobody(void)
{
	begin();
	for (int i = 0; i < PROCESSES; i++)
		set(i, 300 * MB + i * MB, 200 * MB, PLH_LIMIT_LOG);
	look_after(1);
	ok(is_asked(NOBODY, 0) && woken == FIRST_PID + 3, "where the action is to log, nobody is asked");
	ok(logged_line.count == 1 &&
	   strcmp(logged_line.message, "the server has reached pg_leakhunt.server_memory_limit: 4 processes have 1206 MB of 1024 MB") == 0 &&
	   strstr(logged_line.detail, "Process 204 has most, 303 MB.") != NULL, "the log says who has most");
	look_after(30);
	ok(logged_line.count == 1, "not each time");
	look_after(30);
	ok(logged_line.count == 2, "but again in a minute");
}

void
test_server_limit(void)
{
	PlhControlFile *file = plh_control_file;

	plh_control_file = &control_file;
	test_scans();
	test_statements();
	test_sessions();
	test_nobody();
	plh_server_memory_limit = 0;
	plh_control_file = file;
}
