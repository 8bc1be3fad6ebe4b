/*
 * limit_places.h
 *	  What processes tell the keeper of their memory, and which of them it asks to act, as all
 *	  of them together have more than they may.
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

/* The owner: what it has. */
extern void plh_limit_places_note(int64 own_bytes, int64 passing_bytes);

/* The owner: that its action may have changed. */
extern void plh_limit_places_note_action(void);

/* The owner: is it asked for that? */
extern bool plh_limit_places_is_asked(PlhLimitDemand demand);

/* The owner: is it asked for that?  Then it is not any more. */
extern bool plh_limit_places_take(PlhLimitDemand demand);

/* The owner: it has reached a limit. */
extern void plh_limit_places_count_hit(void);

/* How often processes have, since the server was started. */
extern int64 plh_limit_places_hits(void);

/* The keeper: what the process with that number of a place has told. */
extern PlhLimitPlace plh_limit_places_read(int number);

/* The keeper: ask a process. */
extern void plh_limit_places_ask(int pid, PlhLimitDemand demand);

/* The keeper: has a process not acted yet? */
extern bool plh_limit_places_awaits(int pid);

/* The keeper: take back what a process was asked for. */
extern void plh_limit_places_ask_no_more(int pid);
