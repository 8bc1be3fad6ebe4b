/*
 * test_process_facts.c
 *	  The process' own memory, and how often the kernel is asked for it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static int	counting_open(const char *path, int flags);
static int	told_usage(int who, struct rusage *usage);

#define open counting_open
#define getrusage(who, usage) told_usage(who, usage)
#include "base/process_facts.c"
#undef open
#undef getrusage

#include "unit_tests.h"

/* How many files were opened. */
static int	opened;

/* The most memory that the kernel says this process ever had; 0: it does not say. */
static long most_kb;

static int
counting_open(const char *path, int flags)
{
	opened++;
	return open(path, flags);
}

static int
told_usage(int who, struct rusage *usage)
{
	memset(usage, 0, sizeof(*usage));
	usage->ru_maxrss = most_kb;
	usage->ru_minflt = 2;
	usage->ru_majflt = 1;
	return 0;
}

/* Does it take that number of files to say whether the process has that much memory? */
static bool
says(bool owns, int64 bytes, int files)
{
	opened = 0;
	return plh_process_facts_owns(bytes) == owns && opened == files;
}

/* What tells a process from others that have its pid, whatever its name is. */
static void
test_identity(void)
{
	int			pid = getpid();
	uint64		start = plh_process_facts_start_ticks(pid);
	char		name[16];

	ok(plh_process_facts_is_alive(pid, start) &&
	   !plh_process_facts_is_alive(pid, start + 1),
	   "a process that started at another time is not the one with its pid");
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "a) b (c) d");
	ok(start > 0 && plh_process_facts_start_ticks(pid) == start &&
	   plh_process_facts_parent(pid) == getppid(),
	   "a name with parentheses does not move the other fields");
	prctl(PR_SET_NAME, name);
}

void
test_process_facts(void)
{
	int64		bytes;

	test_identity();

	opened = 0;
	bytes = plh_process_facts_own_bytes();
	ok(bytes > 0 && opened == 1, "one look tells the process' own memory");
	most_kb = 10;
	opened = 0;
	ok(plh_process_facts_touched_bytes() == 3 * sysconf(_SC_PAGESIZE) + 10 * 1024 &&
	   opened == 0, "what was touched takes no file");
	most_kb = 1024;
	ok(says(false, 1024 * 1024 + 1, 0),
	   "no look is needed where there never was that much memory of any kind");
	ok(says(true, 1, 1), "a look is needed where there was that much memory");
	most_kb = PG_INT32_MAX;
	ok(says(false, bytes * 2, 1), "a look is needed where memory may have been shared");
	most_kb = 0;
	ok(says(true, 1, 1) && says(false, PG_INT64_MAX, 1),
	   "a look is needed where the kernel does not tell");
}
