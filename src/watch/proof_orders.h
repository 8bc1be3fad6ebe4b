/*
 * proof_orders.h
 *	  Has processes proven that have a new finding, one at a time, within a budget.
 */
#pragma once

#include "watch/watched_processes.h"

/*
 * In a look: the largest finding of a process has so many bytes, and what begins to be suspect and
 * is not proven so many.
 */
extern void plh_proof_orders_want(PlhWatchedProcess *process, const PlhProfileImage *image,
								  int64 finding_bytes, int64 begun_bytes);

/* After the look: follow the last order up, and give the next. */
extern void plh_proof_orders_give(void);
