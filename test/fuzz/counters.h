/*
 * counters.h
 *	  libFuzzer's counters of edges, for what runs in a process of its own.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

extern uint8 *counters_start(void);
extern Size counters_bytes(void);

#endif							/* COUNTERS_H */
