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

/* The owner's: what it has, its action, is it asked for that, and is it no more from now on? */
extern void plh_limit_places_note(int64 own_bytes, int64 passing_bytes);
extern void plh_limit_places_note_action(void);
extern bool plh_limit_places_is_asked(PlhLimitDemand demand);
extern bool plh_limit_places_take(PlhLimitDemand demand);

/* The owner's: it has reached a limit; and how often processes have since the server's start. */
extern void plh_limit_places_count_hit(void);
extern int64 plh_limit_places_hits(void);

/* The keeper's: what a place tells, by its number, and asking a process that has not acted yet. */
extern PlhLimitPlace plh_limit_places_read(int number);
extern void plh_limit_places_ask(int pid, PlhLimitDemand demand);
extern bool plh_limit_places_awaits(int pid);
extern void plh_limit_places_ask_no_more(int pid);
