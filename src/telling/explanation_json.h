/*
 * explanation_json.h
 *	  The explanation of a process for programs: figures, findings and sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/explanation.h"

/* Appends an object.  "names" is how to get names that are missing, or NULL. */
extern void plh_explanation_json_append(StringInfo json, const PlhExplainedProcess *process,
										const PlhExplanation *explanation, const char *names);
