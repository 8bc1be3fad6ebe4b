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

#include "base/clock.h"
#include "base/process_facts.h"

static int	process_is_there(int pid, int signal);
static uint64 start_ticks(int pid);
static int	this_process(void);
static int64 this_time(clockid_t clock);

#define plh_clock_us this_time
#define kill process_is_there
#define plh_process_facts_start_ticks start_ticks
#define getpid this_process
#include "sampler/control.c"
#undef getpid
#undef plh_process_facts_start_ticks
#undef kill
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

/* A wish for an interval, from which the rest of it follows. */
static PlhControlWish
wish_of(uint32 interval)
{
	PlhControlWish wish = {
		.present = true,
		.sampling = interval % 2,
		.sample_interval = interval,
		.scope = interval / 2 % 1000003
	};

	return wish;
}

/* Make a request for some time, or for good with 0. */
static bool
request_for(int pid, uint32 interval, int64 duration_us)
{
	PlhControlWish wish = wish_of(interval);

	wish.duration_us = duration_us;
	return plh_control_request(pid, &wish);
}

static bool
request(int pid, uint32 interval)
{
	return request_for(pid, interval, 0);
}

/* The interval that concerns this process; 0 if none, -1 if the wish is torn. */
static int64
poll_interval(void)
{
	PlhControlWish wish;

	plh_control_poll(&wish);
	if (!wish.present)
		return 0;
	if (wish.sampling != wish.sample_interval % 2 ||
		wish.scope != wish.sample_interval / 2 % 1000003)
		return -1;
	return wish.sample_interval;
}

/* Begin anew. */
static void
start(bool new_server)
{
	plh_control_forget();
	plh_control_start(directory, new_server);
}

static void
test_requests(void)
{
	ok(!request(0, 1) && errno == ENOENT, "without a file there are no requests");
	ok(poll_interval() == 0 && !plh_control_changed(), "and nothing to look at");
	start(true);
	ok(poll_interval() == 0 && !plh_control_changed(), "nor at first with one");
	ok(request(0, 11) && plh_control_changed(), "a request to all is noticed");
	ok(poll_interval() == 11 && !plh_control_changed(), "looked at, and not again");
	ok(request(OWN_PID, 12) && poll_interval() == 12, "one to us comes later");
	ok(request(0, 13) && poll_interval() == 13, "and another to all still later");
	ok(request(OWN_PID + 1, 14) && plh_control_changed() &&
	   poll_interval() == 13, "one to somebody else is none of ours");
	ok(request(OWN_PID, 15) && poll_interval() == 15, "a second one to us");
	started++;
	plh_control_forget();
	ok(poll_interval() == 13, "is not one to a later process of the same pid");
}

static void
test_servers(void)
{
	start(true);
	ok(poll_interval() == 0, "a new server has no requests");
	ok(request(0, 21) && request(OWN_PID, 22), "it gets some");
	start(false);
	ok(poll_interval() == 22, "which are there for all that it starts");
	started++;
	start(false);
	ok(poll_interval() == 0, "and not for another server");
}

/* Let time pass; is it noticed that a request has ended? */
static bool
ends_within(int64 us)
{
	now_us += us;
	return now_us >= plh_control_ends_at_us && plh_control_ends_at_us != 0;
}

static void
test_durations(void)
{
	start(true);
	ok(request_for(OWN_PID, 31, 500) && poll_interval() == 31,
	   "a request for some time");
	ok(!ends_within(499) && poll_interval() == 31, "is in force until then");
	ok(ends_within(1) && poll_interval() == 0, "and not later");
	ok(!ends_within(1000000), "which is noticed once");

	ok(request(OWN_PID, 32) && request_for(OWN_PID, 33, 500) &&
	   poll_interval() == 33, "one on top of one for good");
	ok(request_for(OWN_PID, 34, 200) && poll_interval() == 34,
	   "and a shorter one on top of that");
	ok(ends_within(200) && poll_interval() == 32,
	   "after which that for good is in force again");
	ok(request_for(0, 35, 300) && poll_interval() == 35, "one to all for some time");
	ok(ends_within(300) && poll_interval() == 32, "after which our own is");
	ok(request_for(0, 36, 300) && request(OWN_PID, 37) &&
	   poll_interval() == 37 && ends_within(300) && poll_interval() == 37,
	   "a later one for good stays when one to all ends");
	ok(request_for(OWN_PID, 38, 300) && request(OWN_PID, 39) &&
	   poll_interval() == 39 && !ends_within(300) && poll_interval() == 39,
	   "and takes the place of one of its own that would end");

	ok(request_for(0, 40, 300) && plh_control_reset() &&
	   *plh_control_sequence != plh_control_seen && poll_interval() == 0,
	   "all requests are taken back");
	ok(!ends_within(300), "and nothing is left to end");
	ok(request(OWN_PID, 41) && poll_interval() == 41, "new ones count");
}

static void
test_slots(void)
{
	const char *broken = NULL;
	int			last = FIRST_PID + SLOTS - 1;

	start(true);
	for (int i = 0; i < 3 * SLOTS; i++)
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
	ok(!request(last + 1, 33) && errno == ENOSPC, "one more can not");
	ok(request(last, 34), "but those again");
	ok(request(0, 35) && poll_interval() == 35, "and all of them");
	first_living = FIRST_PID + 1;
	ok(request(last + 1, 36), "and one more in the place of one that is gone");
	first_living = 0;
	ok(!request(FIRST_PID, 37) && errno == ENOSPC, "which has none then");
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
		PlhControlWish wish = wish_of(Max(interval, 1));

		(void) store_request(interval / 7919 % 2 == 0 ? 0 : OWN_PID, &wish);
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

void
test_control(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	test_requests();
	test_servers();
	test_durations();
	test_slots();
	test_writer();
	plh_control_unlink();
	ok(rmdir(directory) == 0, "nothing is left in the directory");
	plh_control_sequence = NULL;
}
