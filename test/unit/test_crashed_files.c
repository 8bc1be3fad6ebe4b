/*
 * test_crashed_files.c
 *	  Which files in the directory of the profiles are of processes that are gone.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodes/pg_list.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "dump/dump_worth.h"
#include "logged_line.h"

static TimestampTz server_start = 1;
static int	dump_keep = 16;

/* There are no lists here. */
#define lappend(list, datum) ((void) (datum), NIL)
#define list_sort(list, compare) ((void) (list), (void) (compare))
#define PgStartTime server_start
#define plh_dump_keep dump_keep
#define plh_dump_worth_after_crash(header) true
#include "crash/crashed_profiles.c"

#include "reader_tests.h"

static char directory[] = "/tmp/plh_crashed.XXXXXX";

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

void
test_crashed_files(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	test_profile_names();
	test_unpublished();
	ok(rmdir(directory) == 0, "nothing else is left there");
}
