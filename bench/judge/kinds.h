/*
 * kinds.h
 *	  Kinds of processes, each with its truth.
 */
#ifndef KINDS_H
#define KINDS_H

#include "simulated.h"
#include "judge/suspect.h"

/* A verdict as one bit of a set. */
#define BIT(verdict) (1 << (verdict))

typedef struct Process Process;

typedef struct Kind
{
	const char *name;
	bool		is_healthy;
	void		(*prepare) (Process *process);
	void		(*step) (Process *process, int step);
} Kind;

struct Process
{
	const Kind *kind;
	Ways		ways;
	int			steps;			/* transactions that it does */

	/* The truth: what a right finding says, and from when on there is one. */
	int			verdicts;		/* set of those that are right */
	int			first_who;		/* sites of the cause; 0: none */
	int			last_who;
	const char *context;		/* of the cause; NULL: it has none of its own */
	bool		is_whole;		/* a finding on the process is right, too */
	bool		needs_census;	/* nobody can see it without */
	int64		judgeable_bytes;
	int64		held_bytes;		/* now, by the cause */
	int64		held_since_us;	/* it has not grown since; 0: it grows */
	bool		is_over;		/* the cause has ended */
	int			causes;			/* that are one finding each; as a rule 1 */
	bool		is_asked;		/* to count its memory, at each look */
	bool		is_proven;		/* where it is worth while */
	bool		is_held;		/* the cause, by a list that has no limit */
	bool		is_enlarged;	/* it is one chunk, whose owner has its pointer */
	double		freed_later_bytes;	/* at the cause's sites, beside held_bytes */

	/*
	 * Of a healthy one: it has shown that it is; until then nobody can tell, as
	 * a cache of an unknown extension that fills looks like a leak.
	 */
	bool		is_filling;		/* a cache of PostgreSQL's, not long full */
	bool		is_settled;

	/* What the kind needs. */
	MemoryContext own;
	Size		size;			/* of a chunk */
	int64		count;			/* of chunks in a step */
	int64		bytes;			/* of something */
	int64		limit;			/* of something */
	int			period;
	int			number;
	bool	   *keys;			/* of a cache, that are in it */
	bool		in_order;
	int			prepared;		/* statements, in the background */
	bool		cached[500];	/* tables, in the background */
	int			message_kb;		/* that each statement takes to be planned */
	int			habits;			/* set of what goes on beside the cause */
};

/* In all processes. */
enum
{
	CORE_CACHE = 1, CHURN, SMALL_QUERY, PREPARE, SMALL_CACHE, CULPRIT = 100
};

/* What makes a cause judgeable. */
#define ENOUGH 16
#define SITE_BYTES (512 * KB)
#define LARGE_BYTES (32 * MB)

extern const Kind kinds[];
extern const int kind_count;

extern void process_prepare(Process *process, const Kind *kind, uint64 seed, bool is_proven);
extern void process_step(Process *process, int step);
extern void process_prove(const Process *process);

/* What kinds have in common (kinds.c). */
extern int64 node_limit(void);
extern void choose_chunks(Process *process, Size most, double times);
extern void take_time(Process *process);
extern void blame_site(Process *process, int sites);
extern void blame_statement(Process *process, int64 least);
extern void leak(Process *process, int who, int64 count);
extern void end_statement(Process *process);
extern void prepare_malloc(Process *process);
extern void prepare_library(Process *process);

/* Kinds that are told by their stacks (kinds_of_stacks.c). */
extern void prepare_leaves(Process *process);
extern void step_leaves(Process *process, int step);
extern void prepare_recursion(Process *process);
extern void step_recursion(Process *process, int step);
extern void prepare_two_leaks(Process *process);
extern void step_two_leaks(Process *process, int step);

/* Kinds that are told by what the process does or has (kinds_of_phases.c). */
extern void prepare_silent_malloc(Process *process);
extern void prepare_silent_library(Process *process);
extern void prepare_cursor(Process *process);
extern void step_cursor(Process *process, int step);
extern void prepare_index(Process *process);
extern void prepare_large_index(Process *process);
extern void step_index(Process *process, int step);

/* Called where a process is worth a look within a transaction. */
extern void look(Process *process);

#endif							/* KINDS_H */
