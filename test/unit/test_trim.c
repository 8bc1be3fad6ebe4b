/*
 * test_trim.c
 *	  How a process is asked to give back what malloc keeps, and when it does.
 */
#include "postgres.h"

#include <malloc.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/process_facts.h"

#define MB ((int64) 1024 * 1024)
#define OTHER 5000

static int64 own_bytes;
static int64 freed_in_malloc;
static int	trims;
static uint64 other_start = 77; /* 0: it is gone */

static int64
rss_stub(int pid)
{
	return own_bytes;
}

static uint64
start_stub(int pid)
{
	return pid == MyProcPid ? 42 : other_start;
}

static void
release_stub(void)
{
	trims++;
	own_bytes -= freed_in_malloc;
	freed_in_malloc = 0;
}

/* The process itself; a child that it forks goes by MyProcPid of its parent. */
static bool is_child;

#define getpid() (MyProcPid + (is_child ? 1 : 0))
#define plh_process_facts_rss_anon_bytes rss_stub
#define plh_process_facts_start_ticks start_stub
#define plh_allocator_release release_stub
#include "sampler/errands.c"
#include "process/trim.c"

#include "unit_tests.h"

static void
test_requests(void)
{
	int64		bytes = -1;
	uint32		request;

	own_bytes = 100 * MB;
	freed_in_malloc = 30 * MB;
	plh_trim_if_asked();
	ok(trims == 0, "nobody gives anything back unasked");
	request = plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid);
	ok(request != 0 && !plh_errands_is_done(PLH_ERRAND_TRIM, MyProcPid, request, &bytes), "a request is not done at once");
	plh_trim_if_asked();
	ok(trims == 1 && plh_errands_is_done(PLH_ERRAND_TRIM, MyProcPid, request, &bytes) && bytes == 30 * MB,
	   "it is told how much was given back");
	plh_trim_if_asked();
	ok(trims == 1, "once");
	request = plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid);
	own_bytes = 70 * MB;
	freed_in_malloc = -MB;
	plh_trim_if_asked();
	ok(trims == 2 && plh_errands_is_done(PLH_ERRAND_TRIM, MyProcPid, request, &bytes) && bytes == 0, "never less than nothing");
}

static void
test_others(void)
{
	int64		bytes;
	uint32		request = plh_errands_ask(PLH_ERRAND_TRIM, OTHER);

	plh_trim_if_asked();
	ok(trims == 2 && !plh_errands_is_done(PLH_ERRAND_TRIM, OTHER, request, &bytes), "what another process is asked is not done here");
	request = plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid + PLH_CONTROL_ERRANDS);
	plh_trim_if_asked();
	ok(trims == 2, "nor what one of the same place is asked");
	request = plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid);
	place_of(PLH_ERRAND_TRIM, MyProcPid)->process_start--;
	plh_trim_if_asked();
	ok(trims == 2 && !plh_errands_is_done(PLH_ERRAND_TRIM, MyProcPid, request, &bytes), "nor what one was asked that had this pid before");
	other_start = 0;
	ok(plh_errands_ask(PLH_ERRAND_TRIM, OTHER) == 0, "a process that is gone is not asked");
	pg_atomic_write_u32(&plh_control_file->errand_requests[PLH_ERRAND_TRIM], PG_UINT32_MAX);
	ok(plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid) != 0, "no request has the number 0");
	request = plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid);
	ok(plh_errands_asked(PLH_ERRAND_TRIM) == request, "which go round, and the next is higher");
}

/* What a process is asked is not done by a child that it forks, as a language may do. */
static void
test_child(void)
{
	int64		bytes;
	uint32		request = plh_errands_ask(PLH_ERRAND_COUNT, MyProcPid);

	is_child = true;
	ok(plh_errands_asked(PLH_ERRAND_COUNT) == 0, "a child is not asked for its parent");
	is_child = false;
	plh_errands_seen[PLH_ERRAND_COUNT] = 0;
	ok(plh_errands_asked(PLH_ERRAND_COUNT) == request &&
	   !plh_errands_is_done(PLH_ERRAND_COUNT, MyProcPid, request, &bytes), "who is asked as before");
	plh_errands_done(PLH_ERRAND_COUNT, request, 0);
}

/* Of those that ask a process at the same time none waits in vain. */
static void
test_several(void)
{
	int64		bytes;
	uint32		first;
	uint32		second;

	pg_atomic_write_u32(&place_of(PLH_ERRAND_COUNT, MyProcPid)->done, 0);
	first = plh_errands_ask(PLH_ERRAND_COUNT, MyProcPid);
	second = plh_errands_ask(PLH_ERRAND_COUNT, MyProcPid);
	raise_requested(place_of(PLH_ERRAND_COUNT, MyProcPid), first);
	ok(plh_errands_changed(PLH_ERRAND_COUNT) && plh_errands_asked(PLH_ERRAND_COUNT) == second,
	   "a process sees the last request, whoever comes late");
	plh_errands_done(PLH_ERRAND_COUNT, second, 0);
	ok(plh_errands_is_done(PLH_ERRAND_COUNT, MyProcPid, first, &bytes) &&
	   plh_errands_is_done(PLH_ERRAND_COUNT, MyProcPid, second, &bytes), "and answers all with it");
	ok(!plh_errands_changed(PLH_ERRAND_COUNT) && plh_errands_asked(PLH_ERRAND_COUNT) == 0, "once");
	first = plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid);
	ok(!plh_errands_changed(PLH_ERRAND_COUNT), "what is asked of one kind is none of another");
	other_start = 77;
	first = plh_errands_ask(PLH_ERRAND_COUNT, MyProcPid);
	(void) plh_errands_ask(PLH_ERRAND_COUNT, MyProcPid + PLH_CONTROL_ERRANDS);
	ok(plh_errands_asked(PLH_ERRAND_COUNT) == 0 &&
	   !plh_errands_is_done(PLH_ERRAND_COUNT, MyProcPid, first, &bytes),
	   "who loses its place to another process waits in vain");
}

void
test_trim(void)
{
	PlhControlFile *file = plh_control_file;

	plh_control_file = NULL;
	plh_trim_if_asked();
	ok(plh_errands_ask(PLH_ERRAND_TRIM, MyProcPid) == 0, "without the file nobody can be asked");
	plh_control_file = calloc(1, sizeof(PlhControlFile));
	test_requests();
	test_others();
	test_child();
	test_several();
	free(plh_control_file);
	plh_control_file = file;
}
