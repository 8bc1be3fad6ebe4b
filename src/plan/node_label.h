/*
 * node_label.h
 *	  What a node of a plan is called, as EXPLAIN calls it.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/execnodes.h"

/* In the current memory context; with the table that it reads or changes. */
extern const char *plh_node_label(const PlanState *planstate);
