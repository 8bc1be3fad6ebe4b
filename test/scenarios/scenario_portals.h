/*
 * scenario_portals.h
 *	  The portals of a scenario's process: cursors that are open, and statements that run.
 */
#ifndef SCENARIO_PORTALS_H
#define SCENARIO_PORTALS_H

#include "scenario_words.h"

/* Returns false if the word is no command about portals. */
extern bool scenario_portals_do(const char *command, Words *words);

/* The transaction is over, and its portals with it. */
extern void scenario_portals_end(void);

/* The process has gone, with all of its contexts. */
extern void scenario_portals_forget(void);

#endif							/* SCENARIO_PORTALS_H */
