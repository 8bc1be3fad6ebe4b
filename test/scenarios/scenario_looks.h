/*
 * scenario_looks.h
 *	  What is seen of the process of a scenario: what the functions of SQL return, and
 *	  what the log says.
 */
#ifndef SCENARIO_LOOKS_H
#define SCENARIO_LOOKS_H

#include "scenario_words.h"

/* The answer, its lines each with an end; NULL if the word is no look. */
/* All that is said of the process, as JSON; it is there, and somebody may ask. */
extern bool scenario_looks_may_answer(void);
extern const char *scenario_looks_answer(void);
extern const char *scenario_looks_at(const char *command, Words *words);

#endif							/* SCENARIO_LOOKS_H */
