/*
 * log_turns.h
 *	  How many exits of a role, and how many findings, the server's log may tell in a minute.
 *
 * Any role can end many short sessions that each hold enough for a dump, and so for a message.
 *
 * Callable at exit: never throws, allocates or waits.
 */
#pragma once

#include "datatype/timestamp.h"

/*
 * Exits of a role, or findings, in a minute that are told.  The minute begins with the first.
 */
#define PLH_LOG_TURNS 10

/* What is to be said of the exits, or findings, that are not told. */
typedef struct PlhLogTurn
{
	bool		is_shared;		/* with other roles */
	bool		is_last;		/* of its minute */
	TimestampTz ends_at;		/* its minute */
	uint32		left_out;		/* exits that were not told before this one */
	TimestampTz left_out_from;	/* when that minute began */
} PlhLogTurn;

/* Returns false if this exit is not told.  It is counted, then, for the next turn. */
extern bool plh_log_turns_take(Oid role, PlhLogTurn *turn);

/* The same of a finding on any process, and of a process that is beyond a limit. */
extern bool plh_log_turns_take_finding(PlhLogTurn *turn);
extern bool plh_log_turns_take_limit(PlhLogTurn *turn);
