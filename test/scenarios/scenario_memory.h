/*
 * scenario_memory.h
 *	  What the process of a scenario allocates and frees.
 */
#ifndef SCENARIO_MEMORY_H
#define SCENARIO_MEMORY_H

#include "scenario_words.h"

/* Returns false if the word is no command about memory. */
extern bool scenario_memory_do(const char *command, Words *words);

#endif							/* SCENARIO_MEMORY_H */
