/*
 * test_trim.c
 *	  How a process is asked to give back what malloc keeps, and when it does.
 */
#include "postgres.h"

#include <malloc.h>

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

static int
trim_stub(size_t pad)
{
	trims++;
	own_bytes -= freed_in_malloc;
	freed_in_malloc = 0;
	return 1;
}

#define plh_process_facts_rss_anon_bytes rss_stub
#define plh_process_facts_start_ticks start_stub
#define malloc_trim trim_stub
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
	request = plh_trim_ask(MyProcPid);
	ok(request != 0 && !plh_trim_is_done(MyProcPid, request, &bytes), "a request is not done at once");
	plh_trim_if_asked();
	ok(trims == 1 && plh_trim_is_done(MyProcPid, request, &bytes) && bytes == 30 * MB,
	   "it is told how much was given back");
	plh_trim_if_asked();
	ok(trims == 1, "once");
	request = plh_trim_ask(MyProcPid);
	own_bytes = 70 * MB;
	freed_in_malloc = -MB;
	plh_trim_if_asked();
	ok(trims == 2 && plh_trim_is_done(MyProcPid, request, &bytes) && bytes == 0, "never less than nothing");
}

static void
test_others(void)
{
	int64		bytes;
	uint32		request = plh_trim_ask(OTHER);

	plh_trim_if_asked();
	ok(trims == 2 && !plh_trim_is_done(OTHER, request, &bytes), "what another process is asked is not done here");
	request = plh_trim_ask(MyProcPid + PLH_CONTROL_TRIMS);
	plh_trim_if_asked();
	ok(trims == 2, "nor what one of the same place is asked");
	request = plh_trim_ask(MyProcPid);
	place_of(MyProcPid)->process_start--;
	plh_trim_if_asked();
	ok(trims == 2 && !plh_trim_is_done(MyProcPid, request, &bytes), "nor what one was asked that had this pid before");
	other_start = 0;
	ok(plh_trim_ask(OTHER) == 0, "a process that is gone is not asked");
	pg_atomic_write_u32(&plh_control_file->trim_requests, PG_UINT32_MAX);
	ok(plh_trim_ask(MyProcPid) != 0, "no request has the number 0");
}

void
test_trim(void)
{
	PlhControlFile *file = plh_control_file;

	plh_control_file = NULL;
	plh_trim_if_asked();
	ok(plh_trim_ask(MyProcPid) == 0, "without the file nobody can be asked");
	plh_control_file = calloc(1, sizeof(PlhControlFile));
	test_requests();
	test_others();
	free(plh_control_file);
	plh_control_file = file;
}
