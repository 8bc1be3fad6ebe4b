/*
 * test_child_deaths.c
 *	  What the postmaster notes in the profiles of children that have died.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "crash/crashed_profiles.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "profile/statements_file.h"
#include "storage/ipc.h"

/* The profiles that a crash has left, of which all stay. */
static List *left_profiles;

#define plh_crashed_profiles_list(directory) left_profiles
#define plh_crashed_profiles_bound(directory, profiles) (profiles)
#define plh_crashed_profiles_remove_unpublished(directory) ((void) (directory))
#define plh_errors_catch(work, arg, failure) ((work)(arg), true)
#define plh_profile_directory_path() "/tmp"
#define plh_statements_file_break_lock() ((void) 0)
#define before_shmem_exit(function, arg) ((void) (function))
#include "crash/child_deaths.c"

#include "server.h"
#include "unit_tests.h"

#define SIGNAL_ID "%s (PID %d) was terminated by signal %d: %s"
#define EXIT_ID "%s (PID %d) exited with exit code %d"
#define CRASH_ID "terminating any other active server processes"
#define OTHER_ID "all server processes terminated; reinitializing"

#define PID 4711
#define OTHER_PID 4712

emit_log_hook_type emit_log_hook;
shmem_startup_hook_type shmem_startup_hook;
TimestampTz PgStartTime = 1;

static const struct
{
	const char *id;
	const char *format;			/* NULL: that of the source */
	const char *message;
	int			pid;			/* 0: it is none about an end */
	PlhDeathKind kind;
	int			number;
}			messages[] =

{
	{SIGNAL_ID, NULL,
		"server process (PID 4711) was terminated by signal 9: Killed",
	4711, PLH_DEATH_SIGNAL, 9},
	{EXIT_ID, NULL, "server process (PID 4711) exited with exit code 3",
	4711, PLH_DEATH_EXIT_CODE, 3},

	/* numbers, parentheses and the message itself in the names */
	{SIGNAL_ID, NULL,
		"background worker \"job 7 (PID 12)\" (PID 4711) was terminated by signal 11: Segmentation fault",
	4711, PLH_DEATH_SIGNAL, 11},
	{SIGNAL_ID, NULL,
		"100% (PID 5) was (PID 6) was terminated by signal 6: : %d",
	6, PLH_DEATH_SIGNAL, 6},
	{SIGNAL_ID, NULL, " (PID 1) was terminated by signal 9: ",
	1, PLH_DEATH_SIGNAL, 9},

	/* translated: other words, another order, none of the English ones */
	{SIGNAL_ID, "%s (PID %d) wurde von Signal %d beendet: %s",
		"Serverprozess (PID 4711) wurde von Signal 9 beendet: Get\xc3\xb6tet",
	4711, PLH_DEATH_SIGNAL, 9},
	{SIGNAL_ID, "%3$d (%4$s), 100%%: %1$s, %2$d",
	"9 (get\xc3\xb6tet), 100%: Serverprozess, 4711", 4711, PLH_DEATH_SIGNAL, 9},
	{EXIT_ID, "%d: %s", "4711: 3", 0, PLH_DEATH_UNKNOWN, 0},

	/* a child that left without cleaning up */
	{EXIT_ID, NULL, "server process (PID 4711) exited with exit code 0",
	4711, PLH_DEATH_EXIT_CODE, 0},

	/* other messages, and those that do not fit their format */
	{"%s", NULL, "server process (PID 4711) was terminated by signal 9: Killed",
	0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, NULL, "server process (PID 4711) was terminated",
	0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, NULL, "", 0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, "", "", 0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, NULL,
		"server process (PID 99999999999) was terminated by signal 9: Killed",
	0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, NULL,
		"server process (PID 2147483648) was terminated by signal 9: Killed",
	0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, NULL,
		"server process (PID 4711) was terminated by signal 2147483648: Killed",
	0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, NULL, "server process (PID 0) was terminated by signal 9: x",
	0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, "%9$s%d", "x1", 0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, "%0$d", "1", 0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, "%f", "1", 0, PLH_DEATH_UNKNOWN, 0},
	{SIGNAL_ID, "%", "%", 0, PLH_DEATH_UNKNOWN, 0}
};

/* The postmaster says something at that time. */
static void
say(TimestampTz at, const char *id, const char *text)
{
	ErrorData	error = {
		.message_id = id,.message = unconstify(char *, text)
	};

	statement_start = at;
	emit_log_hook(&error);
}

/* A child with that pid has died. */
static void
say_death(TimestampTz at, int pid, int signal_number)
{
	char		text[128];

	snprintf(text, sizeof(text), "server process (PID %d) was terminated by signal %d: x",
			 pid, signal_number);
	say(at, SIGNAL_ID, text);
}

/* Two children have died one after the other, and the postmaster ends all others. */
static void
say_crash(int first_pid, int second_pid)
{
	say_death(10, first_pid, 11);
	say_death(50, second_pid, 6);
	say(51, CRASH_ID, CRASH_ID);
}

/* The death that a profile has; without one, its kind is none of ours. */
static PlhDeath
read_death(int fd)
{
	PlhDeath	death = {0};

	if (plh_whole_io_read(fd, &death, sizeof(death),
						  offsetof(PlhProfileHeader, death)) != sizeof(death))
		death.kind = PLH_DEATH_WITH_PROCESS + 1;
	return death;
}

/*
 * The death that is noted at the time 100 in the profile of a process that started
 * at that time.
 */
static PlhDeath
noted_death(TimestampTz started_at)
{
	PlhCrashedProfile profile = {
		.path = "/tmp/plh_child_deaths.XXXXXX",.pid = PID,
		.process_start = PG_UINT64_MAX,.started_at = started_at
	};
	ListCell	cell = {.ptr_value = &profile};
	List		list = {
		.type = T_List,.length = 1,.max_length = 1,.elements = &cell
	};
	PlhDeath	death;
	int			fd = mkstemp(profile.path);

	statement_start = 100;
	left_profiles = &list;
	shmem_startup_hook();
	left_profiles = NIL;
	death = read_death(fd);
	close(fd);
	unlink(profile.path);
	return death;
}

static bool
is_death(PlhDeath death, TimestampTz at, PlhDeathKind kind, int number)
{
	return death.at == at && death.kind == kind && death.number == number;
}

/* Is a death noted as reported in the file that had it, and in no other? */
static void
test_reused_pid(void)
{
	PlhCrashedProfile profile = {.path = "/tmp/plh_child_deaths.XXXXXX"};
	PlhDeath	death = {.at = 10,.kind = PLH_DEATH_SIGNAL,.number = 11};
	struct stat status;
	int			fd = mkstemp(profile.path);

	ok(fstat(fd, &status) == 0, "a profile is there");
	profile.inode = status.st_ino + 1;
	plh_child_deaths_note_reported(&profile, &death);
	ok(fstat(fd, &status) == 0 && status.st_size == 0,
	   "the profile of a new process with the pid gets no death");
	profile.inode = status.st_ino;
	plh_child_deaths_note_reported(&profile, &death);
	ok(is_death(read_death(fd), 10, PLH_DEATH_SIGNAL | PLH_DEATH_REPORTED, 11),
	   "a death that is in the log is noted as such");
	close(fd);
	unlink(profile.path);
}

/* Which messages are about a child that has died, in any language. */
static void
test_messages(void)
{
	for (int i = 0; i < lengthof(messages); i++)
	{
		const char *format = messages[i].format != NULL ? messages[i].format :
			messages[i].id;
		PlhDeath	death = {0};
		int			pid = 0;
		bool		is_death = parse_message(messages[i].id, format, messages[i].message, &pid,
											 &death);

		ok(is_death == (messages[i].pid != 0) &&
		   (!is_death || (pid == messages[i].pid && death.kind == messages[i].kind &&
						  death.number == messages[i].number)),
		   psprintf("deaths are told from messages: %s",
					messages[i].message[0] != '\0' ? messages[i].message : "(empty)"));
	}
}

void
test_child_deaths(void)
{
	TimestampTz now = statement_start;

	test_messages();
	IsUnderPostmaster = false;
	plh_child_deaths_start();

	say_death(10, PID, 11);
	ok(!crashing, "a death alone ends no other process");
	say(11, OTHER_ID, OTHER_ID);
	ok(!crashing, "another message is not that of a crash");
	say(11, CRASH_ID, CRASH_ID);
	ok(crashing, "a death ends all other processes");
	ok(is_death(noted_death(5), 10, PLH_DEATH_SIGNAL, 11), "a process has its own death");
	ok(!crashing, "deaths that are noted are forgotten");

	/* one pid, of two processes one after the other */
	say_crash(PID, OTHER_PID);
	ok(is_death(noted_death(20), 100, PLH_DEATH_WITH_PROCESS, OTHER_PID),
	   "a process does not have the death of an earlier one with its pid");

	say_crash(PID, PID);
	ok(is_death(noted_death(20), 50, PLH_DEATH_SIGNAL, 6),
	   "of two deaths with one pid, a process has the one after its start");

	/* the earlier of both has left a profile, too */
	say_crash(PID, PID);
	ok(is_death(noted_death(5), 10, PLH_DEATH_SIGNAL, 11),
	   "of two deaths with one pid, a process has the first after its start");

	/* the places are filled in turns, so that the later death may come first */
	for (int i = 0; i < KEPT_DEATHS && last_death != KEPT_DEATHS - 2; i++)
		say_death(1, OTHER_PID, 6);
	say_crash(PID, PID);
	ok(is_death(noted_death(5), 10, PLH_DEATH_SIGNAL, 11),
	   "of two deaths with one pid, the order of time counts");

	test_reused_pid();

	emit_log_hook = NULL;
	IsUnderPostmaster = true;
	statement_start = now;
}
