/*
 * phase.h
 *	  What the server was doing when something was allocated, by the functions of a stack.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/stack_text.h"
#include "telling/sentences.h"

/* Those of a transaction that is decoded have a common one: of it they are the parts. */
typedef enum PlhPhase
{
	PLH_PHASE_UNKNOWN,
	PLH_PHASE_PARSING,
	PLH_PHASE_REWRITING,
	PLH_PHASE_PLANNING,
	PLH_PHASE_PLANNING_JOINS,
	PLH_PHASE_PLANNING_PARTITIONS,
	PLH_PHASE_STARTING,			/* the executor, with a plan */
	PLH_PHASE_RUNNING,
	PLH_PHASE_TRIGGERS,
	PLH_PHASE_COPYING,
	PLH_PHASE_COPY_READING,
	PLH_PHASE_INDEX_BUILD,
	PLH_PHASE_VACUUM,
	PLH_PHASE_ANALYZE,
	PLH_PHASE_TABLE_REWRITE,	/* CLUSTER, VACUUM FULL */
	PLH_PHASE_COMMIT,
	PLH_PHASE_DECODING,
	PLH_PHASE_DECODING_CATALOGS,	/* invalidations, versions of rows */
	PLH_PHASE_CACHE_REBUILD,
	PLH_PHASE_JIT
#define PLH_PHASES (PLH_PHASE_JIT + 1)
} PlhPhase;

/*
 * The phase of the innermost function of the server that is known.  "frame" becomes its index in
 * the stack, or the number of frames where there is none.
 */
extern PlhPhase plh_phase_of(const PlhStackText *stack, int *frame);

/*
 * The same, of what a statement holds.  What a rebuild of caches leaves behind there is of the
 * phase that asked for it, if no setting limits that: it stays as long, and grows with the same.
 */
extern PlhPhase plh_phase_of_statement(const PlhStackText *stack, int *frame);

/* Has a function of that phase called, or called what called, the innermost one? */
extern bool plh_phase_is_around(PlhPhase phase, const PlhStackText *stack);

/* What the planner considers; static functions of it have no names. */
typedef enum PlhPlanned
{
	PLH_PLANNED_PARTITION_JOINS,	/* only if enable_partitionwise_join is on */
	PLH_PLANNED_AGGREGATES,
	PLH_PLANNED_BY_GEQO
#define PLH_PLANNED_KINDS (PLH_PLANNED_BY_GEQO + 1)
} PlhPlanned;

/* Was it allocated for that, by any function of the stack? */
extern bool plh_phase_plans(const PlhStackText *stack, PlhPlanned planned);

/* The phase that one is a part of; PLH_PHASE_UNKNOWN: of none. */
extern PlhPhase plh_phase_parent(PlhPhase phase);

/* Does no setting limit what the server allocates in it, but only what there is to do? */
extern bool plh_phase_is_unlimited(PlhPhase phase);

/* Its name, for programs; NULL of one that is unknown. */
extern const char *plh_phase_name(PlhPhase phase);

/* The phrase on what such memory is for.  PLH_SENTENCES: its memory contexts tell more. */
extern PlhSentence plh_phase_purpose(PlhPhase phase);

/*
 * The sentences on what it is, and on what to do about it.  PLH_SENTENCES: there is none.
 * Advice on planning goes by more than that (planning_advice.h).
 */
extern PlhSentence plh_phase_meaning(PlhPhase phase);
extern PlhSentence plh_phase_help(PlhPhase phase);
