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

	/*
	 * Of a healthy one: it has shown that it is; until then nobody can tell, as
	 * a cache of an unknown extension that fills looks like a leak.
	 */
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

extern const Kind kinds[];
extern const int kind_count;

extern void process_prepare(Process *process, const Kind *kind, uint64 seed);
extern void process_step(Process *process, int step);

/* Called where a process is worth a look within a transaction. */
extern void look(Process *process);

#endif							/* KINDS_H */
