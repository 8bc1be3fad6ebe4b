/*
 * scenario_process.h
 *	  The process of a scenario: what its commands have it do.
 *
 * The commands are those of README; each reads the rest of its line.
 */
#ifndef SCENARIO_PROCESS_H
#define SCENARIO_PROCESS_H

#include "profile/profile_image.h"
#include "reader/server_activity.h"
#include "scenario_words.h"

/* What the server knows of the process. */
typedef struct ScenarioProcess
{
	char		username[NAMEDATALEN];
	char		database[NAMEDATALEN];
	char		application[NAMEDATALEN];
	PlhServerQuery query;		/* that runs, or was the last */
	bool		is_over;		/* it crashed, or its profile is a dump's */
	bool		has_crashed;
	TimestampTz ended_at;		/* when that was */
	bool		is_deaf;		/* it does not count when it is asked about */
	int			library_count;	/* that it has loaded */
	char	   *libraries[16];
} ScenarioProcess;

extern ScenarioProcess scenario_process;

/* Returns false if the word is no command of a process. */
extern bool scenario_process_do(const char *command, Words *words);

/*
 * What a limit has done must be said: ends the scenario where the command before this line
 * was refused, or has ended the session, and this one does not say so.
 */
extern void scenario_process_check(const Words *words);

/* Begin it, with the settings so far, unless it has begun. */
extern void scenario_process_begin(void);

/* It is in no transaction. */
extern bool scenario_process_is_idle(void);

/* There is one that is not kept yet. */
extern bool scenario_process_has_begun(void);

#endif							/* SCENARIO_PROCESS_H */
