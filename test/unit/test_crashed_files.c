/*
 * test_crashed_files.c
 *	  Which files in the directory of the profiles are of processes that are gone, which of
 *	  these are worth a dump, and what they held.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodes/pg_list.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "logged_line.h"

static TimestampTz server_start = 1;
static int	dump_keep = 16;
static double dump_min_bytes = 1024 * 1024;
static double dump_min_peak = 256.0 * 1024 * 1024;

/* There are no lists here. */
#define lappend(list, datum) ((void) (datum), NIL)
#define list_sort(list, compare) ((void) (list), (void) (compare))
#define PgStartTime server_start
#define plh_dump_keep dump_keep
#define plh_dump_min_bytes dump_min_bytes
#define plh_dump_min_peak dump_min_peak
#include "crash/crashed_profiles.c"

#include "reader_tests.h"

#define MB ((int64) 1024 * 1024)

static char directory[] = "/tmp/plh_crashed.XXXXXX";

static const struct
{
	const char *name;
	PlhProfileHeader header;
	bool		is_worth;
}			worth_cases[] =

{
	{"a process that holds little is not worth a dump", {.peak_bytes = 255 * MB}, false},
	{"a process that holds much is worth a dump",
		{.counters = {.live_bytes = 2 * MB,.live_count = 2,.live_samples = 2}},
	true},
	{"a process that once held much is worth a dump", {.own_peak_bytes = 256 * MB}, true},
	{"a process with many bytes in contexts is worth a dump",
		{.census_at = 1,.context_bytes = 256 * MB,.malloc_bytes = -1},
	true},
	{"a process with many bytes from malloc is worth a dump", {.census_at = 1,.malloc_bytes = 256 * MB}, true},
	{"bytes of contexts do not count twice beside malloc's",
		{.census_at = 1,.context_bytes = 200 * MB,.malloc_bytes = 210 * MB},
	false},
	{"figures of no census are not worth a dump", {.context_bytes = 256 * MB}, false},
	{"a process that was killed is worth a dump", {.death = {.at = 1,.kind = PLH_DEATH_SIGNAL,.number = 9}},
	true},
	{"a process that failed is worth a dump", {.death = {.at = 1,.kind = PLH_DEATH_EXIT_CODE,.number = 2}},
	true},
	{"a process that went down with another is not worth a dump",
		{.death = {.at = 1,.kind = PLH_DEATH_WITH_PROCESS,.number = 4711}},
	false},
	{"a process that died nobody knows how is not worth a dump", {.death = {.at = 1}}, false}
};

/* What was counted, what samples stood for then and later, and what that makes. */
static const struct
{
	const char *name;
	PlhProfileHeader header;
	int64		bytes;
	int64		gained_bytes;
	bool		is_exact;
}			held_cases[] =

{
	{"a process that was never counted held what its samples say",
		{.counters = {.live_bytes = 9 * MB,.live_samples = 9,.live_variance = MB * MB}},
	9 * MB, 9 * MB, false},
	{"a process held what was counted, if its samples say the same",
		{.census_at = 1,.context_bytes = 385 * MB,.malloc_bytes = 386 * MB,.passing_sampled_bytes = 370 * MB,.lasting_sampled_bytes = 8 * MB,.malloc_sampled_bytes = MB,.counters = {.live_bytes = 379 * MB,.live_samples = 379,.live_variance = MB * MB}},
	386 * MB, 0, true},
	{"a process held what was counted, and what its samples gained since",
		{.census_at = 1,.context_bytes = 385 * MB,.malloc_bytes = -1,.passing_sampled_bytes = 370 * MB,.lasting_sampled_bytes = 8 * MB,.malloc_sampled_bytes = MB,.counters = {.live_bytes = 394 * MB,.live_samples = 394,.live_variance = MB * MB}},
	400 * MB, 15 * MB, false},
	{"a process did not hold what its samples lost since the count",
		{.census_at = 1,.context_bytes = 385 * MB,.passing_sampled_bytes = 370 * MB,.counters = {.live_bytes = 70 * MB,.live_samples = 70,.live_variance = MB * MB}},
	85 * MB, -300 * MB, false},
	{"samples may lose more than was counted",
		{.census_at = 1,.context_bytes = 300 * MB,.passing_sampled_bytes = 370 * MB},
	0, -370 * MB, true}
};

/* The path of a file that is called by a pid. */
static const char *
path_of(const char *format, int pid)
{
	static char path[PLH_PATH_MAX];
	int			length = snprintf(path, sizeof(path), "%s/", directory);

	snprintf(path + length, sizeof(path) - length, format, pid);
	return path;
}

static void
put(const char *format, int pid)
{
	close(open(path_of(format, pid), O_WRONLY | O_CREAT, S_IRUSR | S_IWUSR));
}

/* Is it still there?  It is removed then. */
static bool
was_there(const char *format, int pid)
{
	return unlink(path_of(format, pid)) == 0;
}

/* Is that the name of a profile of process 17? */
static bool
is_profile(const char *name, bool should_be_given_up)
{
	int			pid;
	bool		given_up;

	return parse_name(name, &pid, &given_up) && pid == 17 && given_up == should_be_given_up;
}

static void
test_profile_names(void)
{
	ok(is_profile("17", false) && is_profile("17.1700000000", false), "a profile is called by its pid, and by a time");
	ok(is_profile("17.1700000000" PLH_SAVED_SUFFIX, true), "one that nobody needs any more says so");
	ok(!is_profile("17.", false) && !is_profile("17x", false) && !is_profile("17.1x", false) &&
	   !is_profile("17" PLH_SAVED_SUFFIX, true) && !is_profile("0", false) && !is_profile("tmp.17", false),
	   "other names are of no profile");
}

static void
test_unpublished(void)
{
	int			gone = fork();
	int			own = (int) getpid();

	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	for (int i = 0; i < 2; i++)
	{
		int			pid = i == 0 ? gone : own;

		put("tmp.%d", pid);
		put("tmp.baseline.%d", pid);
	}
	put(PLH_DROPPED_PREFIX "%d", gone);
	put("control.%d", gone);
	plh_crashed_profiles_remove_unpublished(directory);
	ok(!was_there("tmp.%d", gone) && !was_there("tmp.baseline.%d", gone),
	   "what a process was writing when it died is removed, baselines included");
	ok(was_there("tmp.%d", own) && was_there("tmp.baseline.%d", own), "not what one that lives writes");
	ok(!was_there(PLH_DROPPED_PREFIX "%d", gone), "what the postmaster has left is removed");
	ok(was_there("control.%d", gone), "other files stay");
}

/* Which processes are worth a dump, and what they held. */
static void
test_worth(void)
{
	for (int i = 0; i < lengthof(held_cases); i++)
	{
		PlhHeldBytes held = plh_profile_image_held_bytes(&held_cases[i].header);

		ok(held.bytes == held_cases[i].bytes &&
		   held.gained_bytes == held_cases[i].gained_bytes &&
		   (held.error_bytes == 0) == held_cases[i].is_exact,
		   held_cases[i].name);
	}
	for (int i = 0; i < lengthof(worth_cases); i++)
		ok(is_worth_dump(&worth_cases[i].header) == worth_cases[i].is_worth,
		   worth_cases[i].name);
}

void
test_crashed_files(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	test_profile_names();
	test_worth();
	test_unpublished();
	ok(rmdir(directory) == 0, "nothing else is left there");
}
