/*
 * child_deaths.c
 *	  Notes in the postmaster how its children die, and then in the profiles that they leave.
 *
 * Only the postmaster learns how a child ended, and it tells nobody but the log: so we read its
 * messages, before they are written.  The last death before it begins to end all other children is
 * what it takes for the cause.  Where log_min_messages hides the messages, deaths are not known.
 *
 * Up to version 15 the messages come from a handler of signals.  What reads them allocates nothing
 * that the message has not allocated already, and never throws.
 *
 * A message is known by its format in the server's source, which is never translated.  Its numbers
 * are found by the translated format, which may have them in another order and among any words.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "utils/elog.h"
#include "utils/timestamp.h"

#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sealed_file.h"
#include "base/whole_io.h"
#include "crash/child_deaths.h"
#include "crash/crashed_profiles.h"

/* The most arguments that a message has: "child", pid, number, "signal". */
#define MAX_ARGUMENTS 4

/* The arguments that are wanted, from 0 on. */
#define PID_ARGUMENT 1
#define NUMBER_ARGUMENT 2

/* A message that names an end, by its format. */
typedef struct DeathMessage
{
	const char *id;
	PlhDeathKind kind;
} DeathMessage;

static const DeathMessage death_messages[] = {
	{"%s (PID %d) was terminated by signal %d: %s", PLH_DEATH_SIGNAL},
	{"%s (PID %d) exited with exit code %d", PLH_DEATH_EXIT_CODE},
};

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

static PLH_LARGE ChildDeath deaths[KEPT_DEATHS];
static int	last_death;			/* the place that was filled last */
static bool crashing;			/* that one has ended all other children */

/*
 * Read a number.  Returns the text behind it; NULL if there is none, or one that is too large.
 */
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

/* Is that the message with which the server begins to end all other children? */
static bool
is_about_crash(const char *id)
{
	return strcmp(id, crash_id) == 0;
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

	if (is_about_crash(error->message_id))
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
 * Read the messages of this process, the postmaster, from now on.
 */
void
plh_child_deaths_start(void)
{
	prev_emit_log_hook = emit_log_hook;
	emit_log_hook = read_message;
}

bool
plh_child_deaths_has_cause(void)
{
	return crashing;
}

/*
 * Find the death of a process, which is the first of its pid after its start: an earlier process
 * may have had the pid, and a later one, too.
 */
static const PlhDeath *
find_death(const PlhCrashedProfile *profile)
{
	const PlhDeath *found = NULL;

	for (int i = 0; i < KEPT_DEATHS; i++)
	{
		const PlhDeath *death = &deaths[i].death;

		if (deaths[i].pid == profile->pid &&
			death->at >= profile->started_at &&
			(found == NULL || death->at < found->at))
			found = death;
	}
	return found;
}

/* How did a process of this server die? */
static PlhDeath
death_of(const PlhCrashedProfile *profile)
{
	const PlhDeath *own = find_death(profile);
	PlhDeath	death = {.at = GetCurrentTimestamp()};

	if (own != NULL)
		return *own;
	if (crashing)
	{
		death.kind = PLH_DEATH_WITH_PROCESS;
		death.number = deaths[last_death].pid;
	}
	return death;
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

/*
 * Note in a profile that the log has its process' death, so that nobody reports it again.
 */
void
plh_child_deaths_note_reported(const PlhCrashedProfile *profile, const PlhDeath *death)
{
	PlhDeath	reported = *death;

	reported.kind |= PLH_DEATH_REPORTED;
	write_death(profile, &reported);
}

/*
 * Note in each of the listed profiles how its process died, and begin anew.  Those whose death is
 * noted already, or that are older than this server, are none of this crash.
 */
void
plh_child_deaths_note(const List *profiles)
{
	uint64		server_start = plh_process_facts_start_ticks(PostmasterPid);
	ListCell   *cell;

	foreach(cell, profiles)
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
