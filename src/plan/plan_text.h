/*
 * plan_text.h
 *	  What EXPLAIN says of the memory of a plan's nodes, in its formats.
 *
 * Never called inside palloc.
 */
#pragma once

#include "commands/explain.h"

#include "base/compat.h"
#include "plan/plan_result.h"

#if PLH_HAVE_EXPLAIN_OPTIONS
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* A result, and what its texts are made with. */
typedef struct PlhPlanTexts PlhPlanTexts;

/* Belongs to the current memory context; the watch has not been ended meanwhile. */
extern PlhPlanTexts *plh_plan_text_open(const PlhPlanResult *result);

/* These add to the output of EXPLAIN: of a node, by its id, and of the statement. */
extern void plh_plan_text_node(ExplainState *es, PlhPlanTexts *texts, int id);
extern void plh_plan_text_statement(ExplainState *es, PlhPlanTexts *texts);

/* A sentence about what is missing. */
extern void plh_plan_text_problem(ExplainState *es, const char *problem);
