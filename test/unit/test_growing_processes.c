/*
 * test_growing_processes.c
 *	  Whose growth it is that memory runs out by.
 *
 * The tests say which processes there are, and what they have.
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "base/clock.h"
#include "reader_tests.h"

#define FIRST_PID 201
#define MB ((int64) 1024 * 1024)
#define SECOND INT64CONST(1000000)

static int	processes;
static int64 bytes_of[8];		/* -1: it is gone meanwhile */
static int	counts;

static int64
rss_stub(int pid)
{
	return bytes_of[pid - FIRST_PID];
}

/* In no order. */
static List *
children_stub(void)
{
	List	   *pids = NIL;

	counts++;
	for (int i = processes - 1; i >= 0; i--)
		pids = lappend_int(pids, FIRST_PID + i);
	return pids;
}

static int64
clock_stub(clockid_t clock)
{
	return 0;
}

#define TopMemoryContext CurrentMemoryContext
#define plh_clock_us clock_stub
#define plh_process_facts_rss_anon_bytes rss_stub
#define plh_server_processes_children children_stub
#include "watch/growing_processes.c"

static PlhMemoryRoom rooms[PLH_MEMORY_ROOMS];
static PlhGrowth growth;

/* Three processes of 100 MB, twice counted. */
static void
begin(void)
{
	memset(&state, 0, sizeof(state));
	processes = 3;
	for (int i = 0; i < lengthof(bytes_of); i++)
		bytes_of[i] = 100 * MB;
	rooms[1].room_bytes = 1000 * MB;
	rooms[1].shared_bytes = 50 * MB;
	plh_growing_processes_note(rooms, 30 * SECOND);
	plh_growing_processes_note(rooms, 60 * SECOND);
	counts = 0;
}

/* A process has taken that. */
static void
take(int number, int64 bytes)
{
	bytes_of[number] += bytes;
	rooms[1].room_bytes -= bytes;
}

static void
test_who(void)
{
	begin();
	take(1, 142 * MB);
	take(2, 30 * MB);
	rooms[1].room_bytes -= 28 * MB;
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == FIRST_PID + 1 && growth.processes == 1 && growth.percent == 71, "the process that has grown most has its part of all growth");
	ok(growth.server_percent == 86 && growth.shared_percent == 0, "all of the server have theirs");
	take(2, 50 * MB);
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == FIRST_PID + 1 && growth.processes == 2 && growth.percent == 89, "with it are those that have grown half as much");
	take(0, -60 * MB);
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.percent == 100, "where another one gives memory back, parts are of all that was taken");
	bytes_of[1] = -1;
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == FIRST_PID + 2, "one that is gone has grown by nothing");
}

static void
test_new(void)
{
	begin();
	processes = 4;
	rooms[1].room_bytes -= 100 * MB;
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == FIRST_PID + 3 && growth.percent == 100, "a new process has grown by what it has");
}

static void
test_others(void)
{
	begin();
	take(0, 10 * MB);
	rooms[1].room_bytes -= 90 * MB;
	rooms[1].shared_bytes += 80 * MB;
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.server_percent == 10 && growth.shared_percent == 80, "growth of others, and of shared memory, is told");
	begin();
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == 0 && growth.processes == 0 && growth.percent == 0, "without growth there is nobody");
}

static void
test_counts(void)
{
	begin();
	plh_growing_processes_note(rooms, 89 * SECOND);
	ok(counts == 0, "all are counted twice a minute");
	plh_growing_processes_note(rooms, 90 * SECOND);
	ok(counts == 1, "and not more often");
	take(1, 100 * MB);
	plh_growing_processes_note(rooms, 120 * SECOND);
	take(2, 10 * MB);
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == FIRST_PID + 1, "what was counted last is not what it is compared with, but the count before");
	plh_growing_processes_note(rooms, 150 * SECOND);
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == FIRST_PID + 2, "and that goes on");
	memset(&state, 0, sizeof(state));
	plh_growing_processes_find(&growth, rooms, 1);
	ok(growth.pid == 0, "before the first count nothing is known");
}

void
test_growing_processes(void)
{
	test_who();
	test_new();
	test_others();
	test_counts();
}
