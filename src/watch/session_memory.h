/*
 * session_memory.h
 *	  What the memory of one session is, for the record of capacity: what it keeps, and what its
 *	  statement has.
 *
 * Only the keeper calls this.
 */
#pragma once

#include "judge/capacity_looks.h"
#include "reader/server_activity.h"

/* What is remembered of a session between two looks. */
typedef struct PlhSessionMemory
{
	bool		is_read;		/* else all else is 0 */
	bool		was_idle;		/* when it was last read */
	TimestampTz state_since;
	int64		private_bytes;
	int64		idle_bytes;		/* when it was last idle; 0: never */
	int64		beside_bytes;	/* page tables, swap, and its profile */
	TimestampTz counted_at;		/* of the count that the parts are of; 0: none */
	int64		parts[PLH_CAPACITY_PARTS];
} PlhSessionMemory;

/*
 * Read what has changed since, and say it of the session.  False: it is gone.  "directory" is that
 * of the profiles.
 */
extern bool plh_session_memory_read(PlhSessionMemory *memory, const char *directory,
									const PlhServerActivity *activity,
									PlhCapacitySession *session);

/* Read what takes longer, and changes less. */
extern void plh_session_memory_count(PlhSessionMemory *memory, const char *directory, int pid);
