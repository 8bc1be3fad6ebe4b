/*
 * scenario_limits.h
 *	  The memory limit of the process of a scenario, which is the real one.
 *
 * A statement whose allocation was refused has failed, and a session may be ended once its
 * message is over: then the scenario has to say so.
 */
#ifndef SCENARIO_LIMITS_H
#define SCENARIO_LIMITS_H

#include "scenario_words.h"

/* A process begins, with that setting. */
extern void scenario_limits_begin(int action);

/* Has what was done last been refused, or has the session been ended? */
extern bool scenario_limits_take_failure(void);
extern bool scenario_limits_take_end(void);

#endif							/* SCENARIO_LIMITS_H */
