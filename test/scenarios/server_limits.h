/*
 * server_limits.h
 *	  The memory limit of all processes of a scenario, which is the real one.
 */
#ifndef SERVER_LIMITS_H
#define SERVER_LIMITS_H

#include "scenario_words.h"

/* memory_limit SIZE */
extern void server_limits_set(Words *words);

extern bool server_limits_are_set(void);

/* The keeper looks; it may wake the process, which then acts. */
extern void server_limits_look(void);

/* The process has committed a transaction. */
extern void server_limits_committed(void);

#endif							/* SERVER_LIMITS_H */
