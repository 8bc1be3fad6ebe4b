/*
 * child_message.c
 *	  Reads the postmaster's messages about children that have ended.
 *
 * A message is known by its format in the server's source, which is never
 * translated.  Its numbers are found by the translated format, which may have
 * them in another order and among any words.
 */
#include "postgres.h"

#include "crash/child_message.h"

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

static const char *const crash_id =
"terminating any other active server processes";

/*
 * Read a number.  Returns the text behind it; NULL if there is none, or one that is
 * too large.
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
 * Read a conversion of a format, which begins behind its '%': "d" or "s", with the
 * number of its argument as "2$d", or without, and then *argument is the next one.
 * Returns the text behind it, NULL if it is another.
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
	if ((*format != 'd' && *format != 's') || *argument < 0 ||
		*argument >= MAX_ARGUMENTS)
		return NULL;
	return format + 1;
}

/*
 * Was the message made with that format?  Fills in the arguments that are numbers.
 * "argument" is that of the next conversion.
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
		return message != NULL &&
			match(format, message, argument + 1, numbers);
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
 * Read a message about a child that has ended.  Exit code 0 may be a death, too: of
 * a child that has not cleaned up.
 */
bool
plh_child_message_parse(const char *id, const char *format,
						const char *message, int *pid, PlhDeath *death)
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

bool
plh_child_message_is_crash(const char *id)
{
	return strcmp(id, crash_id) == 0;
}
