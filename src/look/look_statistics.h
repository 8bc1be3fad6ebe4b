/*
 * look_statistics.h
 *	  The statistics of memory contexts that were walked, as the server itself would log them.
 */
#pragma once

#include "heap/heap_contexts.h"
#include "statistics/log_reading.h"

/* Hand those of all contexts on.  Chunks that are free are known, and none was marked yet. */
extern void plh_look_statistics_read(const PlhHeapContexts *contexts, int pid,
									 PlhLogReading *reading);
