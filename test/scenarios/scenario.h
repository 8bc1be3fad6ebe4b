/*
 * scenario.h
 *	  Runs a scenario: what a process does, line by line, and what is seen of it.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "scenario_file.h"

/*
 * Runs in a process that has run no other one.  Of each answer the index of its line, its
 * length and itself are written to "told".  What is said behind each line is written to "answers",
 * unless that is NULL: a line of JSON for each.
 */
extern void scenario_run(const ScenarioFile *file, FILE *told, FILE *answers);

#endif							/* SCENARIO_H */
