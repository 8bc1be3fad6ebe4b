/*
 * limit_places.h
 *	  What processes tell the keeper of their memory, and which of them it asks to act.
 *
 * Owners call this inside palloc.
 */
#pragma once

#include "sampler/control_file.h"

/* What a process is asked for. */
typedef enum PlhLimitDemand
{
	PLH_LIMIT_END_STATEMENT,	/* at its next allocation */
	PLH_LIMIT_END_SESSION		/* if it is idle */
} PlhLimitDemand;

/* What the keeper reads of a process. */
typedef struct PlhLimitPlace
{
	int			pid;			/* 0: nobody has the place */
	int			action;			/* PlhLimitAction */
	int64		own_bytes;
	int64		passing_bytes;	/* of these, what ends with the transaction */
} PlhLimitPlace;

/* The owner notes its memory and its action, and looks at, or takes, what it is asked for. */
extern void plh_limit_places_note(int64 own_bytes, int64 passing_bytes);
extern void plh_limit_places_note_action(void);
extern bool plh_limit_places_is_asked(PlhLimitDemand demand);
extern bool plh_limit_places_take(PlhLimitDemand demand);

/* A process has reached a limit; and how often any has since the server was started. */
extern void plh_limit_places_count_hit(void);
extern int64 plh_limit_places_hits(void);

/* The keeper reads places by number, and asks a process, until it has acted or need not. */
extern PlhLimitPlace plh_limit_places_read(int number);
extern void plh_limit_places_ask(int pid, PlhLimitDemand demand);
extern bool plh_limit_places_awaits(int pid);
extern void plh_limit_places_ask_no_more(int pid);
