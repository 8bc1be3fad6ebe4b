/*
 * child_deaths.c
 *	  Notes how children die in the profiles that they leave, and removes what is too much.
 *
 * src/crash/README says by which messages deaths are known; log_min_messages may hide them.
 * Nothing here may stop a server from starting.
 *
 * Up to version 15 the messages come from a handler of signals.  What reads them allocates nothing
 * that the message has not allocated already, and never throws.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/elog.h"
#include "utils/timestamp.h"

#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sealed_file.h"
#include "base/whole_io.h"
#include "crash/child_deaths.h"
#include "crash/crashed_profiles.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "profile/statements_file.h"

/* The most arguments that a message has: "child", pid, number, "signal". */
#define MAX_ARGUMENTS 4

/* The arguments that are wanted, from 0 on. */
#define PID_ARGUMENT 1
#define NUMBER_ARGUMENT 2

/* The messages that name an end, by their formats. */
static const struct
{
	const char *id;
	PlhDeathKind kind;
}			death_messages[] = {
	{"%s (PID %d) was terminated by signal %d: %s", PLH_DEATH_SIGNAL},
	{"%s (PID %d) exited with exit code %d", PLH_DEATH_EXIT_CODE},
};

/* With this the server begins to end all other children. */
static const char *const crash_id = "terminating any other active server processes";

/*
 * The last ends of children are kept until the next crash.  One is that crash's cause; few
 * processes, such as the logger, may die without a crash.
 */
#define KEPT_DEATHS 8

typedef struct ChildDeath
{
	int			pid;			/* 0: this place is free */
	PlhDeath	death;
} ChildDeath;

static emit_log_hook_type prev_emit_log_hook;
static shmem_startup_hook_type prev_shmem_startup_hook;

static PLH_LARGE ChildDeath deaths[KEPT_DEATHS];
static int	last_death;			/* the place that was filled last */
static bool crashing;			/* that one has ended all other children */

/* Read a number.  Returns the text behind it; NULL if there is none, or one that is too large. */
static const char *
read_number(const char *text, int *number)
{
	int64		value = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++)
	{
		value = 10 * value + (*text - '0');
		if (value > PG_INT32_MAX)
			return NULL;
	}
	*number = (int) value;
	return text;
}

/*
 * Read a conversion of a format, which begins behind its '%': "d" or "s", with the number of its
 * argument as "2$d", or without, and then *argument is the next one.  Returns the text behind it,
 * NULL if it is another.
 */
static const char *
read_conversion(const char *format, int *argument, char *conversion)
{
	int			position;
	const char *rest = read_number(format, &position);

	if (rest != NULL && *rest == '$')
	{
		format = rest + 1;
		*argument = position - 1;
	}
	*conversion = *format;
	if ((*format != 'd' && *format != 's') || *argument < 0 || *argument >= MAX_ARGUMENTS)
		return NULL;
	return format + 1;
}

/*
 * Was the message made with that format?  Fills in the arguments that are numbers.  "argument" is
 * that of the next conversion.
 */
static bool
match(const char *format, const char *message, int argument, int *numbers)
{
	char		conversion;

	for (; *format != '%' || format[1] == '%'; format++, message++)
	{
		if (*format != *message)
			return false;
		if (*format == '\0')
			return true;
		format += *format == '%';
	}
	format = read_conversion(format + 1, &argument, &conversion);
	if (format == NULL)
		return false;
	if (conversion == 'd')
	{
		message = read_number(message, &numbers[argument]);
		return message != NULL && match(format, message, argument + 1, numbers);
	}
	for (;; message++)
	{
		if (match(format, message, argument + 1, numbers))
			return true;
		if (*message == '\0')
			return false;
	}
}

/*
 * Read a message, if it is about a child that has ended.  "id" is its format in the server's
 * source, "format" the translation that it was made with.  Fills in the pid, and of the death all
 * but the time.  Exit code 0 may be a death, too: of a child that has not cleaned up.
 */
static bool
parse_message(const char *id, const char *format, const char *message, int *pid, PlhDeath *death)
{
	for (int i = 0; i < lengthof(death_messages); i++)
	{
		int			numbers[MAX_ARGUMENTS] = {0};

		if (strcmp(id, death_messages[i].id) != 0)
			continue;
		if (!match(format, message, 0, numbers) || numbers[PID_ARGUMENT] <= 0)
			return false;
		*pid = numbers[PID_ARGUMENT];
		death->kind = death_messages[i].kind;
		death->number = numbers[NUMBER_ARGUMENT];
		return true;
	}
	return false;
}

/* The format that a message was made with, in the language of the log. */
static const char *
translated_format(const ErrorData *error)
{
#ifdef ENABLE_NLS
	return dgettext(error->domain, error->message_id);
#else
	return error->message_id;
#endif
}

/* Keep the end that a message is about, if it is about one. */
static void
note_message(const ErrorData *error)
{
	ChildDeath	child;

	if (strcmp(error->message_id, crash_id) == 0)
		crashing = deaths[last_death].pid != 0;
	else if (parse_message(error->message_id, translated_format(error), error->message,
						   &child.pid, &child.death))
	{
		child.death.at = GetCurrentTimestamp();
		last_death = (last_death + 1) % KEPT_DEATHS;
		deaths[last_death] = child;
	}
}

/*
 * emit_log_hook: the postmaster's messages, up to those with which it begins to end all children.
 */
static void
read_message(ErrorData *error)
{
	if (!IsUnderPostmaster && !crashing && error->message_id != NULL && error->message != NULL)
		note_message(error);
	if (prev_emit_log_hook != NULL)
		prev_emit_log_hook(error);
}

/*
 * The death of a process of this server: the first of its pid after its start.  An earlier process
 * may have had the pid, and a later one, too.
 */
static PlhDeath
death_of(const PlhCrashedProfile *profile)
{
	const PlhDeath *own = NULL;
	PlhDeath	other = {.at = GetCurrentTimestamp()};

	for (int i = 0; i < KEPT_DEATHS; i++)
	{
		const PlhDeath *death = &deaths[i].death;

		if (deaths[i].pid == profile->pid &&
			death->at >= profile->started_at &&
			(own == NULL || death->at < own->at))
			own = death;
	}
	if (own != NULL)
		return *own;
	if (crashing)
	{
		other.kind = PLH_DEATH_WITH_PROCESS;
		other.number = deaths[last_death].pid;
	}
	return other;
}

/*
 * Write a death into a profile.  Where that fails, it stays unknown.  A new process with the pid
 * may have put its own profile there: that is another file.
 */
static void
write_death(const PlhCrashedProfile *profile, const PlhDeath *death)
{
	int			fd = plh_sealed_file_open(profile->path, profile->inode);

	if (fd < 0)
		return;
	(void) plh_whole_io_write(fd, death, sizeof(*death), offsetof(PlhProfileHeader, death));
	close(fd);
}

void
plh_child_deaths_note_reported(const PlhCrashedProfile *profile, const PlhDeath *death)
{
	PlhDeath	reported = *death;

	reported.kind |= PLH_DEATH_REPORTED;
	write_death(profile, &reported);
}

/*
 * PlhErrorsWork: note in each profile that is left how its process died, and begin anew.  Those
 * whose death is noted already, or that are older than this server, are none of this crash.
 */
static void
note_deaths(void *arg)
{
	uint64		server_start = plh_process_facts_start_ticks(PostmasterPid);
	ListCell   *cell;

	foreach(cell, plh_crashed_profiles_list(plh_profile_directory_path()))
	{
		const PlhCrashedProfile *profile = lfirst(cell);

		if (profile->died_at == 0 && profile->process_start >= server_start)
		{
			PlhDeath	death = death_of(profile);

			write_death(profile, &death);
		}
	}
	memset(deaths, 0, sizeof(deaths));
	crashing = false;
}

static void
sweep_directory(void *arg)
{
	const char *directory = plh_profile_directory_path();

	/* a server that starts has no start time yet: all are a former one's */
	if (PgStartTime != 0)
		note_deaths(NULL);
	plh_statements_file_break_lock();
	(void) plh_crashed_profiles_bound(directory, plh_crashed_profiles_list(directory));
	plh_crashed_profiles_remove_unpublished(directory);
}

/*
 * Callback before_shmem_exit: after a crash all children are gone by now.  If the server does not
 * go on (restart_after_crash), no other process knows how they died.
 */
static void
note_before_exit(int code, Datum arg)
{
	if (crashing)
		(void) plh_errors_catch(note_deaths, NULL,
								"could not note how processes died that did not exit cleanly");
}

/*
 * shmem_startup_hook: the server calls it when it starts, and again when it goes on after a crash,
 * when the postmaster is the only process left.
 */
static void
sweep_at_startup(void)
{
	if (prev_shmem_startup_hook != NULL)
		prev_shmem_startup_hook();
	if (IsUnderPostmaster)
		return;
	(void) plh_errors_catch(sweep_directory, NULL,
							"could not look for profiles of processes that did not exit cleanly");

	/* the server forgets callbacks when it goes on; children do at once */
	before_shmem_exit(note_before_exit, 0);
}

void
plh_child_deaths_start(void)
{
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = sweep_at_startup;
	prev_emit_log_hook = emit_log_hook;
	emit_log_hook = read_message;
}
