/*
 * test_session_memory.c
 *	  What of a session's memory it keeps, and what is its statement's.
 *
 * What the kernel and the profile tell is set here.
 */
#include "postgres.h"

#include "base/process_facts.h"
#include "profile/profile_image.h"
#include "reader/profile_reader.h"
#include "reader/server_memory.h"
#include "reader/server_processes.h"

static int64 told_by_kernel(int pid);
static PlhProfileImage *told_by_profile(bool header_only);
static void told_by_status(int pid, PlhProcessMemory *memory);

#define plh_process_facts_rss_anon_bytes(pid) told_by_kernel(pid)
#define plh_profile_reader_peek(path, header) false
#define plh_profile_reader_find(directory, pid, header_only) told_by_profile(header_only)
#define plh_server_memory_of_file(path) INT64CONST(0)
#define plh_server_processes_memory(pid, memory) told_by_status(pid, memory)
#include "watch/session_memory.c"
#undef plh_process_facts_rss_anon_bytes
#undef plh_profile_reader_peek
#undef plh_profile_reader_find
#undef plh_server_memory_of_file
#undef plh_server_processes_memory

#include "unit_tests.h"

#define MB INT64CONST(1048576)
#define PID 4711
#define STARTED 1000

static int64 private_bytes;
static int64 counted;			/* beside statements; -1: there is no profile */
static int	questions;			/* that the kernel was asked */

static int64
told_by_kernel(int pid)
{
	questions++;
	return private_bytes;
}

static PlhProfileImage *
told_by_profile(bool header_only)
{
	static PlhProfileHeader header;
	static PlhProfileImage image;

	if (counted < 0)
		return NULL;
	header.pid = PID;
	header.started_at = STARTED;
	header.census_at = 1;
	header.own_bytes = counted + 7 * MB;
	header.passing_bytes = 7 * MB;
	image.header = &header;
	return &image;
}

static void
told_by_status(int pid, PlhProcessMemory *memory)
{
	memset(memory, 0, sizeof(*memory));
	memory->page_table_bytes = 2 * MB;
	memory->swapped_bytes = 3 * MB;
}

static PlhSessionMemory memory;
static PlhCapacitySession session;

/* Look at the session in a state, which it has since then. */
static bool
look(const char *state, TimestampTz since, int64 megabytes, int64 counted_megabytes)
{
	const PlhServerActivity activity = {
		.pid = PID,.started_at = STARTED,.state = state,.state_since = since
	};

	private_bytes = megabytes < 0 ? -1 : megabytes * MB;
	counted = counted_megabytes < 0 ? -1 : counted_megabytes * MB;
	return plh_session_memory_read(&memory, "/nowhere", &activity, &session);
}

static bool
has(int64 kept_megabytes, int64 statement_megabytes)
{
	return session.session_bytes == kept_megabytes * MB &&
		session.statement_bytes == statement_megabytes * MB;
}

void
test_session_memory(void)
{
	ok(look("idle", 1, 20, -1) && has(20, 0) && !session.is_active,
	   "what an idle session has, it keeps");
	questions = 0;
	ok(look("idle", 1, 99, -1) && has(20, 0) && questions == 0,
	   "while it stays idle it is not asked again");
	ok(look("active", 2, 120, -1) && has(20, 100) && session.is_active,
	   "what it has beyond that is its statement's");
	ok(look("active", 3, 160, 60) && has(60, 100),
	   "but for what has grown in the session meanwhile");
	ok(look("active", 4, 70, 5) && has(20, 50),
	   "a count that is older takes nothing from what it keeps");
	ok(look("idle in transaction", 5, 50, 40) && has(40, 10) && session.is_active,
	   "an open transaction counts as a statement");
	ok(look("idle", 6, 30, 10) && has(30, 0), "at rest it keeps what it has then");
	ok(look("active", 7, 10, -1) && has(10, 0), "it never keeps more than it has");

	plh_session_memory_count(&memory, "/nowhere", PID);
	ok(look("idle", 8, 25, -1) && has(30, 0), "page tables and swap belong to what it keeps");
	plh_session_memory_count(&memory, "/nowhere", PID);
	ok(look("idle", 8, 21, -1) && has(26, 0), "after a count it is asked again, though idle");

	memset(&memory, 0, sizeof(memory));
	ok(look("active", 1, 120, 20) && has(20, 100),
	   "one that was never seen idle is told apart by its count");
	ok(session.is_told_apart, "which is known");
	ok(look("active", 2, 90, -1) && has(90, 0), "and without one, all of it is the session's");
	ok(!session.is_told_apart, "as long as nothing else is known");
	ok(!look("active", 3, -1, -1), "one that is gone is gone");
}
