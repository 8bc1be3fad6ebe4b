/*
 * test_process_facts.c
 *	  The process' own memory, and how often the kernel is asked for it.
 */
#include "postgres.h"

#include <fcntl.h>
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

/* Does it take so many files to say whether the process has that much memory? */
static bool
says(bool owns, int64 bytes, int files)
{
	opened = 0;
	return plh_process_facts_owns(bytes) == owns && opened == files;
}

void
test_process_facts(void)
{
	int64		bytes;

	opened = 0;
	bytes = plh_process_facts_own_bytes();
	ok(bytes > 0 && opened == 1, "one look tells the process' own memory");
	most_kb = 10;
	opened = 0;
	ok(plh_process_facts_touched_bytes() == 3 * sysconf(_SC_PAGESIZE) + 10 * 1024 &&
	   opened == 0, "what was touched takes no file");
	most_kb = 1024;
	ok(says(false, 1024 * 1024 + 1, 0),
	   "none is needed where there never was so much of any kind");
	ok(says(true, 1, 1), "one is, where there was");
	most_kb = PG_INT32_MAX;
	ok(says(false, bytes * 2, 1), "though that may have been shared");
	most_kb = 0;
	ok(says(true, 1, 1) && says(false, PG_INT64_MAX, 1),
	   "or where the kernel does not tell");
}
