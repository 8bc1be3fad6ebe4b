/*
 * test_watched_processes.c
 *	  When a process is judged, and which of its findings are told.
 *
 * The table is an array here.
 */
#include "postgres.h"

#include "utils/hsearch.h"

static HTAB *make_array(const HASHCTL *control);
static void *search_array(const void *key, HASHACTION action, bool *found);
static void begin_scan(int *scan);
static void *scan_array(int *scan);

#define hash_create(name, size, control, flags) make_array(control)
#define hash_search(table, key, action, found) search_array(key, action, found)
#define HASH_SEQ_STATUS int
#define hash_seq_init(scan, table) begin_scan(scan)
#define hash_seq_search(scan) scan_array(scan)
#include "watch/watched_processes.c"
#undef hash_create
#undef hash_search
#undef HASH_SEQ_STATUS
#undef hash_seq_init
#undef hash_seq_search

#include "unit_tests.h"

#define MB INT64CONST(1048576)
#define SECOND USECS_PER_SEC
#define BEGIN ((TimestampTz) 1000 * SECOND)

static PlhWatchedProcess array[2];
static int	entries;

static HTAB *
make_array(const HASHCTL *control)
{
	return (HTAB *) array;
}

static void *
search_array(const void *key, HASHACTION action, bool *found)
{
	int			pid = *(const int *) key;
	bool		is_there;

	for (int i = 0; i < entries; i++)
	{
		if (array[i].pid != pid)
			continue;
		if (found != NULL)
			*found = true;
		if (action == HASH_REMOVE)
			array[i] = array[--entries];
		return &array[i];
	}
	is_there = action == HASH_ENTER;
	if (found != NULL)
		*found = false;
	if (!is_there)
		return NULL;
	array[entries].pid = pid;
	return &array[entries++];
}

static void
begin_scan(int *scan)
{
	*scan = entries;
}

static void *
scan_array(int *scan)
{
	return *scan == 0 ? NULL : &array[--*scan];
}

static PlhProfileHeader header;

/* Judge the process at that second if it is due; it has a finding of that size, or 0. */
static bool
tells(int second, int64 bytes)
{
	TimestampTz now = BEGIN + second * SECOND;
	PlhWatchedProcess *process = plh_watched_processes_find(&header, now);
	bool		told;

	if (!plh_watched_processes_is_due(process, &header, now))
		return false;
	plh_watched_processes_begin_judgement(process, &header, now);
	if (bytes == 0)
		return false;
	told = plh_watched_processes_note_finding(process, 77, bytes, now);
	if (told)
		plh_watched_processes_order(header.pid, 77, bytes);
	return told;
}

static void
begin(void)
{
	entries = 0;
	memset(array, 0, sizeof(array));
	memset(&header, 0, sizeof(header));
	header.pid = 4711;
	header.started_at = BEGIN - SECOND;
	header.own_bytes = 100 * MB;
}

static void
test_whole_findings(void)
{
	begin();
	ok(!tells(0, 10 * MB), "what was seen once is not told");
	ok(tells(10, 10 * MB), "what is there still is told");
	header.samples_taken++;
	ok(!tells(40, 39 * MB), "and not again while it is less than four times as large");
	header.samples_taken++;
	ok(tells(70, 40 * MB), "but when it is");
	begin();
	ok(!tells(0, 10 * MB) && !tells(5, 10 * MB) && tells(10, 10 * MB),
	   "two looks that follow at once are not enough");
	begin();
	ok(!tells(0, 10 * MB) && !tells(10, 0), "what is gone is not told");
	header.samples_taken++;
	ok(!tells(40, 10 * MB) && tells(50, 10 * MB), "what comes again is seen anew");
}

static void
test_due(void)
{
	PlhWatchedProcess *process;

	begin();
	(void) tells(0, 0);
	process = plh_watched_processes_find(&header, BEGIN);
	ok(!plh_watched_processes_is_due(process, &header, BEGIN + 3600 * SECOND),
	   "a process that has not changed is not judged again");
	header.samples_taken++;
	ok(!plh_watched_processes_is_due(process, &header, BEGIN + 10 * SECOND) &&
	   plh_watched_processes_is_due(process, &header, BEGIN + 20 * SECOND),
	   "one that has changed a little is judged now and then");
	header.own_bytes += 20 * MB;
	ok(plh_watched_processes_is_due(process, &header, BEGIN + 10 * SECOND),
	   "one that has grown is judged at the next look");
	header.started_at++;
	process = plh_watched_processes_find(&header, BEGIN + 10 * SECOND);
	ok(process->judged_at == 0, "a new process with the pid is another one");
	plh_watched_processes_forget(BEGIN + 10 * SECOND);
	ok(entries == 1, "one that was seen is remembered");
	plh_watched_processes_forget(BEGIN + 11 * SECOND);
	ok(entries == 0, "one that is gone is forgotten");
	plh_watched_processes_order(4711, 77, MB);
	ok(entries == 0, "an order for it does not bring it back");
}

/* Where a worker could not be started, it is tried again. */
static void
test_orders(void)
{
	begin();
	(void) tells(0, 10 * MB);
	(void) tells(10, 10 * MB);
	plh_watched_processes_order(header.pid, 77, 0);
	ok(array[0].awaits, "what could not be told leads to another judgement");
	begin();
	(void) tells(0, 0);
	for (uint64 key = 0; key < PLH_WATCHED_FINDINGS + 3; key++)
		(void) plh_watched_processes_note_finding(&array[0], key, MB, BEGIN + key);
	ok(array[0].findings[2].key == PLH_WATCHED_FINDINGS + 2 && array[0].findings[3].key == 3,
	   "of too many findings those that were seen longest ago are forgotten");
}

void
test_watched_processes(void)
{
	test_whole_findings();
	test_due();
	test_orders();
}
