/*
 * tap.c
 *	  The results of the tests, as TAP.
 *
 * To write them allocates nothing, as what is allocated is what the tests look at.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "tap.h"

static int	tests;
static int	failures;

static void say(const char *format,...) __attribute__((format(printf, 1, 2)));

/* dprintf would allocate. */
static void
say(const char *format,...)
{
	char		line[400];
	va_list		arguments;
	int			length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (write(STDOUT_FILENO, line, length) != length)
		failures++;
}

void
ok(bool passed, const char *format,...)
{
	char		name[200];
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	tests++;
	if (!passed)
		failures++;
	say("%sok %d - %s\n", passed ? "" : "not ", tests, name);
}

void
skip(const char *what, const char *why)
{
	tests++;
	say("ok %d - %s # SKIP %s\n", tests, what, why);
}

void
is(long long value, long long expected, const char *name)
{
	if (value != expected)
		say("# %s: %lld, not %lld\n", name, value, expected);
	ok(value == expected, "%s", name);
}

/* The exit status of the tests. */
int
tests_end(void)
{
	say("1..%d\n", tests);
	return failures == 0 ? 0 : 1;
}
