/*
 * proof_orders.h
 *	  Has processes proven that have a new finding, one at a time, within a budget.
 */
#pragma once

#include "watch/watched_processes.h"

/* In a look: a process has a finding of so many bytes, or one that begins. */
extern void plh_proof_orders_want(PlhWatchedProcess *process, const PlhProfileHeader *header,
								  int64 bytes);

/* After the look: follow the last order up, and give the next. */
extern void plh_proof_orders_give(void);
