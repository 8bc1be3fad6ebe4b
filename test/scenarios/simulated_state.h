/*
 * simulated_state.h
 *	  What a simulated process consists of, for the files that simulate it.
 */
#ifndef SIMULATED_STATE_H
#define SIMULATED_STATE_H

#include "base/sampling.h"
#include "simulated.h"
#include "storage/proc.h"

/* When it began, by the system's clock: with a year. */
#define BEGAN_US (INT64CONST(1798761600) * 1000000)

/* A chunk that was sampled and is there. */
typedef struct Sample
{
	uint32		site;
	int			who;
	Size		size;
	PlhDraw		draw;
	uint32		tick;			/* of its birth */
	double		fate;			/* 0 to 1: what becomes of it, by chance */
	int			next;			/* of the same context; -1: none */
} Sample;

/* A context, the samples in it, what all of its chunks have, and what is free. */
typedef struct Shell
{
	MemoryContextData data;
	int			samples;		/* the first; -1: none */
	int64		chunk_bytes;
	int64		free_bytes;
} Shell;

typedef struct Simulated
{
	Ways		ways;
	PGPROC		proc;
	int64		now_us;			/* since it began */
	double		rest_us;
	uint64		cpu_us;
	int64		countdown;
	bool		is_hurried;		/* the next allocation is looked at */
	int64		passing_live;	/* estimated */
	int64		contexts;
	int64		context_bytes;
	int64		outside_bytes;
	int64		kept_bytes;
	int64		arena_bytes;	/* of these, in other threads' arenas */
	int64		mapped_bytes;
	int64		transaction_us; /* when it began */
	TimestampTz began_at;		/* the same, by the system's clock */
	uint32		transactions;
	char		statement[PLH_STATEMENT_MAX];
	uint64		query_id;
	PlhAllocator allocator;
	bool		is_published;	/* it has kept or is enough for that */
	int64		sized_us;		/* when it last asked how large it is */
	int64		unsampled_bytes;	/* before sampling began */
	Shell		blocks;			/* sampled ones of malloc; in no tree */
	pg_prng_state fates;
	Sample	   *samples;
	int			sample_count;
	int			sample_room;
	int			free_sample;	/* -1: none */
} Simulated;

extern Simulated simulated;

static inline Shell *
shell_of(MemoryContext context)
{
	return (Shell *) context;
}

/* Let a context be as large as its chunks make it. */
extern void simulated_note_size(MemoryContext context);

/* The samples in a context are gone. */
extern void simulated_drop_samples(MemoryContext context);

#endif							/* SIMULATED_STATE_H */
