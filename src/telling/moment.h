/*
 * moment.h
 *	  Of which moment the figures of a process are.
 *
 * What a process has counted is of the moment when it did so, and what the kernel tells of it is of
 * now.  An answer is of one moment, or says of which each figure is.
 */
#pragma once

#include "telling/explained_process.h"

/* Is what a process has counted current?  False of one that is gone. */
extern bool plh_moment_is_now(const PlhExplainedProcess *process);

/* Since when it waits for its client, in a transaction or not; "now" of any other. */
extern TimestampTz plh_moment_idle_since(const PlhExplainedProcess *process);

/*
 * The own memory of a process, now, or at the last count; -1 if not known.  Where its counts are
 * current, it is the figure that goes with them.
 */
extern int64 plh_moment_own_bytes(const PlhExplainedProcess *process);

/*
 * What it has gained since the last count, or lost; 0 where that is next to nothing, not known, or
 * the count is current.
 */
extern int64 plh_moment_gained_bytes(const PlhExplainedProcess *process);

/* Has it so little now that so much, which was counted, can't be there any more? */
extern bool plh_moment_has_lost(const PlhExplainedProcess *process, int64 bytes);
