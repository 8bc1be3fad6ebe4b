/*
 * test_child_messages.c
 *	  The postmaster's messages about children that have died, in any language.
 */
#include "postgres.h"

#include "crash/child_message.h"
#include "unit_tests.h"

#define SIGNAL_ID "%s (PID %d) was terminated by signal %d: %s"
#define EXIT_ID "%s (PID %d) exited with exit code %d"

static const struct
{
	const char *id;
	const char *format;			/* NULL: that of the source */
	const char *message;
	int			pid;			/* 0: it is none about an end */
	PlhDeathKind kind;
	int			number;
}			cases[] =

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

void
test_child_messages(void)
{
	for (int i = 0; i < lengthof(cases); i++)
	{
		const char *format = cases[i].format != NULL ? cases[i].format :
			cases[i].id;
		PlhDeath	death = {0};
		int			pid = 0;
		bool		is_death = plh_child_message_parse(cases[i].id, format,
													   cases[i].message, &pid,
													   &death);

		ok(is_death == (cases[i].pid != 0) &&
		   (!is_death || (pid == cases[i].pid && death.kind == cases[i].kind &&
						  death.number == cases[i].number)),
		   psprintf("deaths are told from messages: %s",
					cases[i].message[0] != '\0' ? cases[i].message : "(empty)"));
	}
	ok(plh_child_message_is_crash("terminating any other active server processes"),
	   "the message of a crash is known");
	ok(!plh_child_message_is_crash("all server processes terminated; reinitializing"),
	   "another message is not that of a crash");
}
