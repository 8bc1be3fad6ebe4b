/*
 * finding_json.h
 *	  Findings, and what is said, for programs.
 *
 * Programs get fields, and the ids of sentences: none of ours reads words.  Never called inside
 * palloc.
 */
#pragma once

#include "telling/explanation.h"

/* The member "findings": an array of objects.  "told" is of PlhToldFinding. */
extern void plh_finding_json_put_all(StringInfo json, const List *told);

/* The member "doubt": why there is no finding; null where there is one. */
extern void plh_finding_json_put_doubt(StringInfo json, const PlhDoubt *doubt);

/* The members "sentences", a text for each line, and "sentence_ids". */
extern void plh_finding_json_put_text(StringInfo json, const PlhSaid *text);

/* The member "verdicts": what each means, and its tone. */
extern void plh_finding_json_put_verdicts(StringInfo json);

/* All of a process, as an object.  "names" is how to get names that are missing, or NULL. */
extern void plh_finding_json_put_explanation(StringInfo json, const PlhExplainedProcess *process,
											 const PlhExplanation *explanation, const char *names);
