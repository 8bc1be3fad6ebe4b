/*
 * annotated_plan.h
 *	  Adds what nodes held to what EXPLAIN has printed, where it asks no extension while it prints.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

#include "plan/plan_text.h"

/* Returns that text with what belongs to its nodes.  Results are in the order of its plans. */
extern char *plh_annotated_plan_make(const char *text, ExplainFormat format, const List *results);
