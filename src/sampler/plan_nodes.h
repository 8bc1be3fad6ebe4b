/*
 * plan_nodes.h
 *	  What each node of a plan holds, and at which sites, while its statement is watched.
 *
 * Only what is allocated meanwhile counts.  A sample is of the node that runs when it is taken, and
 * stays so until it is freed, whoever frees it.
 *
 * The functions that begin, end and read are called outside of palloc; the others may be called
 * inside, under the guard.
 */
#pragma once

#include "nodes/execnodes.h"
#include "portability/instr_time.h"

#include "base/pointer_table.h"
#include "base/sampling.h"

/* What no node holds stands before the nodes, by who allocated it. */
typedef enum PlhPlanStage
{
	PLH_STAGE_PLANNING,			/* up to the executor's start */
	PLH_STAGE_START,			/* of the executor, of all nodes */
	PLH_STAGE_BETWEEN,			/* no node runs */
	PLH_STAGE_FINISH,			/* of the executor: AFTER triggers */
	PLH_STAGES					/* number of them, must be last */
} PlhPlanStage;

/* The place of a node, whose plan_node_id is "id". */
#define PLH_PLAN_PLACE(id)	((uint32) (id) + PLH_STAGES)

#define PLH_NO_PLACE ((uint32) 0)

/* A plan with more nodes is not followed beyond these. */
#define PLH_PLAN_NODES_MAX (1024 * 1024)

/* An estimate of bytes, by samples. */
typedef struct PlhPlanAmount
{
	int64		bytes;
	int64		samples;
	double		variance;		/* in bytes squared */
} PlhPlanAmount;

/* A node, or a stage. */
typedef struct PlhPlanNode
{
	/* as the executor knows it */
	PlanState  *planstate;		/* NULL: of a stage, or the executor made none */
	ExecProcNodeMtd run;		/* the node's own function */
	PlanState  *parallel_join;	/* the nearest one, from this node upwards */
	const instr_time *started;	/* not 0 while it runs; NULL: returns tuples */

	/* places; PLH_NO_PLACE: none */
	uint32		hash;			/* of a join: the node of its hash table */
	uint32		first_callee;	/* nodes that it runs, without tuples */
	uint32		next_callee;

	/* what it holds */
	uint64		last_change;	/* the number of it */
	uint64		highest_change; /* that of its own highest amount */
	PlhPlanAmount live;
	PlhPlanAmount at_peak;		/* of the statement, once it has changed since */
	PlhPlanAmount highest;		/* its own */
} PlhPlanNode;

/* What a node holds at a site. */
typedef struct PlhPlanPart
{
	PlhPointerEntry entry;		/* key: both; user: the place of the node */
	uint32		site;			/* its offset in the profile */
	int64		live_bytes;
	int64		highest_bytes;	/* when the node held most, if changed since */
	uint64		last_change;
} PlhPlanPart;

/* The part of a sample that has none. */
#define PLH_NO_PART ((uint32) 0)

typedef struct PlhPlanFigures
{
	uint32		count;			/* of places */
	uint32		parts;
	uint32		interval;		/* at present, or when the watch stopped */
	int64		lost_samples;	/* that no part has, as there was no memory */
	PlhPlanAmount peak;			/* of all nodes and stages */
} PlhPlanFigures;

/* Is a statement watched?  Read by the hooks. */
extern bool plh_plan_nodes_are_watched;

/* The place of what runs now.  Whoever runs a node sets it, and sets it back. */
extern uint32 plh_plan_nodes_current;

/* The nodes and stages, by their places. */
extern PlhPlanNode *plh_plan_nodes;

extern bool plh_plan_nodes_begin(void);
extern bool plh_plan_nodes_expect(uint32 nodes);
extern void plh_plan_nodes_stop(void);
extern void plh_plan_nodes_end(void);
extern PlhPlanFigures plh_plan_nodes_figures(void);
extern PlhPlanAmount plh_plan_nodes_at_peak(uint32 place);
extern const PlhPlanPart *plh_plan_nodes_part(uint32 number, int64 *highest_bytes);

extern uint32 plh_plan_nodes_add(uint32 site, Size size, PlhDraw draw, MemoryContext context);
extern void plh_plan_nodes_subtract(uint32 part, Size size, PlhDraw draw);
extern void plh_plan_nodes_add_chunk(uint32 index, uint32 site, Size size, PlhDraw draw,
									 MemoryContext context);
extern void plh_plan_nodes_subtract_chunk(uint32 index, Size size, PlhDraw draw);
extern void plh_plan_nodes_move_chunk(uint32 index, uint32 site, Size size, PlhDraw draw,
									  uint32 place);
extern void plh_plan_nodes_forget(void);
