/*
 * test_control.c
 *	  Requests to processes: whom they concern, how many there can be, and that
 *	  none is read while it is written.
 *
 * The tests say which processes there are, when they started, and what time it
 * is.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/clock.h"
#include "base/process_facts.h"

static int	process_is_there(int pid, int signal);
static uint64 start_ticks(int pid);
static int	this_process(void);
static int64 this_time(clockid_t clock);
static void this_pause(long us);

#define plh_clock_us this_time
#define pg_usleep this_pause
#define kill process_is_there
#define plh_process_facts_start_ticks start_ticks
#define getpid this_process
#include "sampler/control_file.c"
#include "sampler/control.c"
#undef getpid
#undef plh_process_facts_start_ticks
#undef kill
#undef pg_usleep
#undef plh_clock_us

#include "unit_tests.h"

#define OWN_PID 5000
#define FIRST_PID 10000

static char directory[] = "/tmp/plh_unit_XXXXXX";

/* Processes with a lower number are gone. */
static int	first_living = 0;

/* When all processes started. */
static uint64 started = 77;

static int
process_is_there(int pid, int signal)
{
	errno = ESRCH;
	return pid >= first_living ? 0 : -1;
}

static uint64
start_ticks(int pid)
{
	return started;
}

static int
this_process(void)
{
	return OWN_PID;
}

static int64 now_us = 1000;

static int64
this_time(clockid_t clock)
{
	return now_us;
}

/* How long the tested code has paused, and a lock that ends its pauses. */
static int64 paused_us;
static int	other_holder = -1;

static void
this_pause(long us)
{
	paused_us += us;
	if (paused_us >= 1000000 && other_holder >= 0)
	{
		close(other_holder);
		other_holder = -1;
	}
}

/* A request for an interval, from which the rest of it follows. */
static PlhControlRequest
asked_for(uint32 interval)
{
	PlhControlRequest asked = {
		.present = true,
		.sampling = interval % 2,
		.sample_interval = interval,
		.scope = interval / 2 % 1000003
	};

	return asked;
}

/* Make a request for some time, or for good with 0. */
static bool
request_for(int pid, uint32 interval, int64 duration_us)
{
	PlhControlRequest asked = asked_for(interval);

	asked.duration_us = duration_us;
	return plh_control_request(pid, &asked);
}

static bool
request(int pid, uint32 interval)
{
	return request_for(pid, interval, 0);
}

/* The interval that concerns this process; 0 if none, -1 if the request is torn. */
static int64
poll_interval(void)
{
	PlhControlRequest asked;

	plh_control_poll(&asked);
	if (!asked.present)
		return 0;
	if (asked.sampling != asked.sample_interval % 2 ||
		asked.scope != asked.sample_interval / 2 % 1000003)
		return -1;
	return asked.sample_interval;
}

/* Begin anew. */
static void
start(bool new_server)
{
	plh_control_forget();
	plh_control_start(directory, 1, new_server);
}

static void
test_requests(void)
{
	ok(!request(0, 1) && errno == ENOENT, "a request without a file fails");
	ok(poll_interval() == 0 && !plh_control_changed(), "a process without a file has no request");
	start(true);
	ok(poll_interval() == 0 && !plh_control_changed(), "a process with a new file has no request");
	ok(request(0, 11) && plh_control_changed(), "a request to all is noticed");
	ok(poll_interval() == 11 && !plh_control_changed(), "a request that was looked at is no news");
	ok(request(OWN_PID, 12) && poll_interval() == 12, "a later request to one process overrides one to all");
	ok(request(0, 13) && poll_interval() == 13, "a later request to all overrides one to one process");
	ok(request(OWN_PID + 1, 14) && plh_control_changed() &&
	   poll_interval() == 13, "a request to another process changes nothing");
	ok(request(OWN_PID, 15) && poll_interval() == 15, "a second request to one process overrides one to all");
	started++;
	plh_control_forget();
	ok(poll_interval() == 13, "a request to one process is not for a later one of the same PID");
}

static void
test_servers(void)
{
	start(true);
	ok(poll_interval() == 0, "a new server has no requests");
	ok(request(0, 21) && request(OWN_PID, 22), "a new server takes requests");
	start(false);
	ok(poll_interval() == 22, "requests are in force for processes that start later");
	started++;
	start(false);
	ok(poll_interval() == 0, "requests are not in force for another server");
}

/* Let time pass; is it noticed that a request has ended? */
static bool
ends_within(int64 us)
{
	now_us += us;
	return now_us >= plh_control_seen.ends_at_us && plh_control_seen.ends_at_us != 0;
}

static void
test_durations(void)
{
	start(true);
	ok(request_for(OWN_PID, 31, 500) && poll_interval() == 31,
	   "a request for some time is in force");
	ok(!ends_within(499) && poll_interval() == 31, "a request for some time is in force until its end");
	ok(ends_within(1) && poll_interval() == 0, "a request for some time is not in force after its end");
	ok(!ends_within(1000000), "the end of a request is noticed once");

	ok(request(OWN_PID, 32) && request_for(OWN_PID, 33, 500) &&
	   poll_interval() == 33, "a request for some time overrides one for good");
	ok(request_for(OWN_PID, 34, 200) && poll_interval() == 34,
	   "a shorter request overrides a longer one");
	ok(ends_within(200) && poll_interval() == 32,
	   "a request for good is in force again after those for some time");
	ok(request_for(0, 35, 300) && poll_interval() == 35, "a request to all for some time overrides one to one process");
	ok(ends_within(300) && poll_interval() == 32, "a request to one process is in force again after one to all");
	ok(request_for(0, 36, 300) && request(OWN_PID, 37) &&
	   poll_interval() == 37 && ends_within(300) && poll_interval() == 37,
	   "a later request for good stays when one to all ends");
	ok(request_for(OWN_PID, 38, 300) && request(OWN_PID, 39) &&
	   poll_interval() == 39 && !ends_within(300) && poll_interval() == 39,
	   "a later request for good replaces one of its own that would end");

	ok(request_for(0, 40, 300) && plh_control_request(0, NULL) &&
	   *plh_control_changes != plh_control_seen.changes && poll_interval() == 0,
	   "all requests are taken back at once");
	ok(!ends_within(300), "requests that were taken back do not end later");
	ok(request(OWN_PID, 41) && poll_interval() == 41, "a request after all were taken back is in force");
}

/*
 * pg_leakhunt.enabled is turned off, and on again, which ends the requests that
 * were made before.
 */
static void
test_disabling(void)
{
	IsUnderPostmaster = false;
	start(true);
	(void) poll_interval();
	plh_control_note_enabled(true);
	ok(!plh_control_changed(), "enabled = on at the start is no news");
	ok(request(0, 51) && request_for(OWN_PID, 53, 300) && poll_interval() == 53,
	   "requests are in force");
	plh_control_note_enabled(false);
	ok(plh_control_changed() && poll_interval() == 0, "requests end when sampling is turned off");
	now_us += 300;
	ok(poll_interval() == 0, "requests to all end when sampling is turned off");
	ok(request(OWN_PID, 55) && poll_interval() == 55, "a request made after sampling was turned off is in force");
	plh_control_note_enabled(false);
	ok(poll_interval() == 55, "a request stays in force when others read the configuration later");
	plh_control_note_enabled(true);
	ok(poll_interval() == 55, "a request stays in force when sampling is turned on again");
	ok(request(0, 57), "a request to all is made before sampling is turned off");
	plh_control_note_enabled(false);
	plh_control_note_enabled(true);
	ok(plh_control_changed() && poll_interval() == 0,
	   "a session that was idle notices that a request has ended");

	IsUnderPostmaster = true;
	ok(request(0, 59), "another request to all is made");
	plh_control_note_enabled(false);
	ok(poll_interval() == 59, "children do not note the setting that their postmaster notes");
	started++;
	start(false);
	ok(request(0, 61) && poll_interval() == 61, "a request to a later server is in force");
	ParallelWorkerNumber = 0;
	plh_control_note_enabled(false);
	ok(poll_interval() == 61, "a parallel worker does not note its leader's setting");
	ParallelWorkerNumber = -1;
	plh_control_note_enabled(false);
	ok(poll_interval() == 0, "a session notes the setting that no postmaster notes");
	plh_enabled = false;
	started++;
	start(false);
	ok(request(0, 63), "a request to a server that starts with enabled = off is made");
	plh_control_note_enabled(false);
	ok(poll_interval() == 63, "a request to a server that started with enabled = off is in force");
	plh_enabled = true;
}

/*
 * Another process has the lock: one that goes on after a second, and one that was
 * stopped.
 */
static void
test_locks(void)
{
	int			stopped;

	start(true);
	other_holder = open(control_path, O_RDONLY);
	(void) flock(other_holder, LOCK_EX);
	paused_us = 0;
	ok(request(0, 71) && poll_interval() == 71 && paused_us >= 1000000,
	   "a request waits for a lock");
	stopped = open(control_path, O_RDONLY);
	(void) flock(stopped, LOCK_EX);
	paused_us = 0;
	errno = 0;
	ok(!request(0, 73) && errno == EWOULDBLOCK && poll_interval() == 71,
	   "a request does not wait for a lock for ever");
	ok(paused_us <= 5000000, "a request waits for a lock for seconds");
	paused_us = 0;
	start(false);
	ok(paused_us == 0 && poll_interval() == 71,
	   "a session that starts does not wait for a lock");
	close(stopped);
	ok(request(0, 75) && poll_interval() == 75, "a request is in force after the lock is gone");
}

static void
test_slots(void)
{
	const char *broken = NULL;
	int			last = FIRST_PID + PLH_CONTROL_SLOTS - 1;

	start(true);
	for (int i = 0; i < 3 * PLH_CONTROL_SLOTS; i++)
	{
		first_living = FIRST_PID + i;
		REQUIRE(broken, request(FIRST_PID + i, 31));
	}
	ok_unbroken(broken, "processes that are gone make room for others");

	first_living = 0;
	start(true);
	for (int i = FIRST_PID; i <= last; i++)
		REQUIRE(broken, request(i, 32));
	ok_unbroken(broken, "2,048 processes can be asked");
	errno = 0;
	ok(!request(last + 1, 33) && errno == ENOSPC, "one process more than 2,048 cannot be asked");
	ok(request(last, 34), "a process that was asked can be asked again");
	ok(request(0, 35) && poll_interval() == 35, "all processes can be asked when there are many requests");
	first_living = FIRST_PID + 1;
	ok(request(last + 1, 36), "a process can be asked in the place of one that is gone");
	first_living = 0;
	ok(!request(FIRST_PID, 37) && errno == ENOSPC, "a process that has lost its place cannot be asked");
}

/* A file in which somebody has written a number of slots that there are not. */
static void
test_too_many_slots(void)
{
	/* what is behind the last slot looks like that of a process that is gone */
	start(true);
	first_living = FIRST_PID;
	for (int i = FIRST_PID; i < FIRST_PID + PLH_CONTROL_SLOTS; i++)
		(void) request(i, 32);
	plh_control_file->used_slots = PLH_CONTROL_SLOTS + 1;
	errno = 0;
	ok(!request(FIRST_PID + PLH_CONTROL_SLOTS, 33) && errno == ENOSPC,
	   "a slot behind the last is not written to");
	ok(poll_interval() == 0, "a slot behind the last is not read");
	ok(request(FIRST_PID, 34), "a file that states too many slots can be used");
}

/*
 * Write requests to all and to one process, until this one is stopped.  The only
 * writer needs no lock, which would take most of the time.
 */
static void
write_on(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32 interval = 1;; interval += 7919)
	{
		PlhControlRequest asked = asked_for(Max(interval, 1));

		(void) store_request(interval / 7919 % 2 == 0 ? 0 : OWN_PID, &asked);
	}
}

static void
test_writer(void)
{
	pid_t		writer;
	int64		torn = 0;
	int64		different = 0;
	int64		last = 0;

	start(true);
	fflush(stdout);
	writer = fork();
	if (writer == 0)
		write_on();
	for (int i = 0; i < rounds(20) * 100000 || different < 1000; i++)
	{
		int64		interval = poll_interval();

		torn += interval < 0;
		different += interval != last;
		last = interval;
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	printf("# %lld changes were seen\n", (long long) different);
	ok(torn == 0, "a request is read whole while others are written");
}

/* Servers of two clusters have been given one directory. */
static void
test_clusters(void)
{
	struct stat other;
	struct stat now;
	char		path[PLH_PATH_MAX];

	plh_control_start(directory, 2, true);
	strlcpy(path, control_path, sizeof(path));
	(void) stat(path, &other);
	start(true);
	ok(stat(path, &now) == 0 && now.st_ino == other.st_ino,
	   "a server that starts leaves the requests of another cluster");
	plh_control_file_unlink();
	ok(unlink(path) == 0, "a server that stops leaves the requests of another cluster");
	start(true);
}

void
test_control(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	test_requests();
	test_servers();
	test_clusters();
	test_durations();
	test_disabling();
	test_locks();
	test_slots();
	test_too_many_slots();
	test_writer();
	plh_control_file_unlink();
	ok(rmdir(directory) == 0, "no file is left in the directory of requests");
	plh_control_changes = NULL;
}
