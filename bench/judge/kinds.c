/*
 * kinds.c
 *	  Kinds of processes, each with its truth.
 *
 * What makes a cause judgeable is said here without a look at the judge: 16 samples'
 * worth of it and 16 transactions, half a megabyte, or 32 MB where only counts or the
 * settings tell.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"

#include "kinds.h"
#include "simulated_proof.h"
#include "stacks.h"

/* What goes on beside the cause. */
enum
{
	USES_TABLES = 1, CHURNS = 2, QUERIES = 4, PREPARES = 8, HAS_SMALL_CACHE = 16
};

/* What a node of a plan may take. */
int64
node_limit(void)
{
	return (int64) (work_mem * 1024.0 * hash_mem_multiplier);
}

/* The bytes of samples enough to judge a site with such chunks. */
static int64
sampled_enough(const Process *process, Size size)
{
	return ENOUGH * (int64) (size / -expm1(-(double) size / process->ways.interval));
}

/* Chunks of a step, so that all steps come to that many times what is judgeable. */
void
choose_chunks(Process *process, Size most, double times)
{
	int64		least;
	int64		goal;

	process->size = magnitude(16, most);
	least = Max(process->judgeable_bytes, sampled_enough(process, process->size));
	goal = Max(1, (int64) (least * times / process->steps));
	if (process->size > goal && happens(0.5))
		process->size = Max(16, goal);
	process->count = Max(1, goal / (int64) process->size);
	process->bytes = process->count * (int64) process->size;
	process->judgeable_bytes = Max(least, ENOUGH * process->bytes);
}

/* What only counts can tell is told by some of them, which are a second apart. */
void
take_time(Process *process)
{
	process->ways.step_us = Max(process->ways.step_us, 60 * USECS_PER_SEC / process->steps);
}

static MemoryContext
lasting_context(Process *process)
{
	static const char *const names[] = {
		"extension cache", "SPI results", "some library", "hash of an extension"
	};

	switch (between(0, 2))
	{
		case 0:
			return tree.top;
		case 1:
			return tree.cache;
	}
	return process->own = context_create(names[between(0, 3)], tree.top);
}

void
blame_site(Process *process, int sites)
{
	process->verdicts = BIT(PLH_VERDICT_LEAK) | BIT(PLH_VERDICT_HELD);
	process->first_who = CULPRIT;
	process->last_who = CULPRIT + sites - 1;
	process->judgeable_bytes = SITE_BYTES;
	process->own = lasting_context(process);
}

void
leak(Process *process, int who, int64 count)
{
	allocate(process->own, who, process->size, count);
	process->held_bytes += count * (int64) process->size;
}

/* One site, in each transaction. */
static void
prepare_leak(Process *process)
{
	blame_site(process, 1);
	choose_chunks(process, 16 * MB, 2.5 + 6 * pg_prng_double(&chance));
}

static void
step_leak(Process *process, int step)
{
	simulated_statement("SELECT leak();");
	leak(process, CULPRIT, process->count);
}

/* The same, of which much is freed at once. */
static void
prepare_leak_in_churn(Process *process)
{
	prepare_leak(process);
	process->needs_census = true;
	process->number = magnitude(1, 30);
	process->judgeable_bytes = Max(process->judgeable_bytes,
								   4 * sampled_enough(process, process->size));
	process->count = Max(process->count, 3 * process->judgeable_bytes /
						 (process->steps * (int64) process->size));
	take_time(process);
}

static void
step_leak_in_churn(Process *process, int step)
{
	simulated_statement("SELECT leak_and_free();");
	leak(process, CULPRIT, process->count);
	allocate_and_free(process->own, CULPRIT, process->size,
					  process->count * process->number);
}

/* Hundreds of sites. */
static void
prepare_many_sites(Process *process)
{
	blame_site(process, 1);
	process->number = between(20, 300);
	process->last_who = CULPRIT + process->number - 1;
	process->verdicts |= BIT(PLH_VERDICT_GROWING);
	process->is_whole = true;
	process->needs_census = true;
	process->judgeable_bytes = 2 * LARGE_BYTES;
	choose_chunks(process, 4 * KB, 2.5 + 3 * pg_prng_double(&chance));
	take_time(process);
}

static void
step_many_sites(Process *process, int step)
{
	simulated_statement("SELECT leak_everywhere();");
	for (int64 i = 0; i < process->number; i++)
		leak(process, CULPRIT + (int) i, Max(1, process->count / process->number));
}

/* One site, in statements of many shapes. */
static void
prepare_many_statements(Process *process)
{
	blame_site(process, 1);
	process->verdicts |= BIT(PLH_VERDICT_GROWING);
	process->is_whole = true;
	process->number = magnitude(2, 2000);
	process->judgeable_bytes = process->number < 4 ?
		process->number * SITE_BYTES : LARGE_BYTES;
	choose_chunks(process, 64 * KB, 2.5 + 3 * pg_prng_double(&chance));
	if (process->number < 4)
		process->judgeable_bytes *= process->number;
}

static void
step_many_statements(Process *process, int step)
{
	simulated_statement("SELECT leak_%d();", (int) between(1, process->number));
	leak(process, CULPRIT, process->count);
}

/* In one of some transactions. */
static void
prepare_stepped(Process *process)
{
	blame_site(process, 1);
	process->period = between(2, 20);
	process->steps *= 1 + process->period / 4;
	choose_chunks(process, 16 * MB, 3 + 6 * pg_prng_double(&chance));
	process->count *= process->period;
	process->judgeable_bytes = Max(process->judgeable_bytes,
								   ENOUGH * process->count * (int64) process->size);
}

static void
step_stepped(Process *process, int step)
{
	simulated_statement("SELECT leak_now_and_then();");
	if (step % process->period == 0)
		leak(process, CULPRIT, process->count);
}

/* Freed now and then, but not all of it. */
static void
prepare_teeth(Process *process)
{
	blame_site(process, 1);
	process->needs_census = true;
	process->period = between(3, 12);
	choose_chunks(process, 64 * KB, 6 + 6 * pg_prng_double(&chance));
	process->judgeable_bytes = Max(process->judgeable_bytes,
								   4 * process->period * process->bytes);
	process->steps = Max(process->steps, 32 * process->period);
	process->limit = 0;
	take_time(process);
}

static void
step_teeth(Process *process, int step)
{
	MemoryContext teeth;

	simulated_statement("SELECT leak_and_free_later();");
	if (process->limit == 0)
	{
		process->own = context_create("a queue that leaks", tree.top);
		process->limit = 1;
	}
	teeth = process->own;
	allocate(teeth, CULPRIT, process->size, process->count);
	process->number++;
	if (step % process->period == process->period - 1)
	{
		/* of what this tooth has, a third stays */
		double		all = process->held_bytes + (double) process->number * process->bytes;
		double		kept = process->held_bytes + process->number * process->bytes / 3.0;

		free_some(teeth, CULPRIT, 1.0 - kept / all);
		process->held_bytes = kept;
		process->number = 0;
	}
	process->freed_later_bytes = process->number * process->bytes;
}

/* An array that doubles by repalloc. */
static void
prepare_doubling(Process *process)
{
	blame_site(process, 1);
	process->verdicts |= BIT(PLH_VERDICT_GROWING);
	process->is_whole = process->needs_census = true;
	process->judgeable_bytes = 2 * LARGE_BYTES;
	process->limit = magnitude(256 * MB, 1024 * MB);	/* what it is filled to */
	process->bytes = process->limit / process->steps;
	process->size = 0;
	process->is_enlarged = true;
}

static void
step_doubling(Process *process, int step)
{
	simulated_statement("SELECT append();");
	process->count += process->bytes;
	while ((int64) process->size < process->count)
	{
		Size		to = process->size == 0 ? 1024 : 2 * process->size;

		enlarge(process->own, CULPRIT, process->size, to);
		process->size = to;
	}
	process->held_bytes = process->size;
}

/* A buffer that is enlarged by as much each time. */
static void
prepare_enlarged(Process *process)
{
	prepare_doubling(process);
	process->bytes = magnitude(256 * KB, 8 * MB);
	process->judgeable_bytes = Max(LARGE_BYTES, ENOUGH * process->bytes);
	process->steps = Max(process->steps, (int) (3 * process->judgeable_bytes / process->bytes));
}

static void
step_enlarged(Process *process, int step)
{
	simulated_statement("SELECT append();");
	enlarge(process->own, CULPRIT, process->size, process->size + process->bytes);
	process->size += process->bytes;
	process->held_bytes = process->size;
}

/* Left by a few transactions. */
static void
prepare_held(Process *process)
{
	blame_site(process, 1);
	process->verdicts = BIT(PLH_VERDICT_HELD) | BIT(PLH_VERDICT_LEAK);
	process->judgeable_bytes = LARGE_BYTES;
	process->period = between(1, 4);	/* transactions */
	process->size = magnitude(16, 512 * MB);
	process->bytes = magnitude(48 * MB, 1024 * MB);
	process->bytes = Max(process->bytes,
						 2 * sampled_enough(process, Min(process->size, 4 * MB)));
	process->count = Max(1, process->bytes / process->period / (int64) process->size);
	process->number = between(0, process->steps / 2);
}

static void
step_held(Process *process, int step)
{
	simulated_statement("SELECT load();");
	if (step < process->number || step >= process->number + process->period)
		return;
	leak(process, CULPRIT, process->count);
	process->held_since_us = simulated_now_us();
}

/* Contexts, each with a chunk or none. */
static void
prepare_contexts(Process *process)
{
	blame_site(process, 1);
	process->verdicts = BIT(PLH_VERDICT_CONTEXTS) | BIT(PLH_VERDICT_LEAK) |
		BIT(PLH_VERDICT_HELD);
	process->context = "leaked context";
	process->needs_census = true;
	process->size = magnitude(2 * KB, 128 * KB);
	process->judgeable_bytes = Max(LARGE_BYTES, 64 * (int64) process->size);
	process->bytes = process->judgeable_bytes * (2.2 + 2 * pg_prng_double(&chance));
	if (process->bytes / (int64) process->size > 12000)
		process->size = process->bytes / 12000;
	process->count = Max(1, process->bytes / (int64) process->size / process->steps);
	take_time(process);
}

static void
create_and_fill(Process *process, const char *name, MemoryContext parent, int who)
{
	allocate(context_create(name, parent), who, process->size, 1);
	process->held_bytes += process->size;
}

static void
step_contexts(Process *process, int step)
{
	simulated_statement("SELECT leak_contexts();");
	for (int64 i = 0; i < process->count; i++)
		create_and_fill(process, process->context, tree.top, CULPRIT);
}

/* Statements that are prepared and never deallocated: three contexts each. */
static void
prepare_prepared(Process *process)
{
	prepare_contexts(process);
	process->verdicts = BIT(PLH_VERDICT_CONTEXTS) | BIT(PLH_VERDICT_HELD);
	process->context = "CachedPlanSource";
}

static void
step_prepared(Process *process, int step)
{
	static const char *const names[] = {"CachedPlanSource", "CachedPlanQuery", "CachedPlan"};

	simulated_statement("PREPARE s%d AS SELECT 1;", step);
	for (int64 i = 0; i < process->count; i++)
		create_and_fill(process, names[i % 3], tree.cache, CULPRIT + i % 3);
}

/* Functions that are replaced over and over. */
static void
prepare_functions(Process *process)
{
	prepare_prepared(process);
	process->context = "PL/pgSQL function";
}

static void
step_functions(Process *process, int step)
{
	simulated_statement("CREATE OR REPLACE FUNCTION f%d() ...", step);
	for (int64 i = 0; i < process->count; i++)
		create_and_fill(process, i % 2 == 0 ? "PL/pgSQL function" : "SPI Plan",
						i % 2 == 0 ? tree.top : tree.cache, CULPRIT + i % 2);
}

/* Cursors WITH HOLD. */
static void
prepare_cursors(Process *process)
{
	prepare_prepared(process);
	process->context = "PortalHoldContext";
}

static void
step_cursors(Process *process, int step)
{
	simulated_statement("DECLARE c%d CURSOR WITH HOLD ...", step);
	for (int64 i = 0; i < process->count; i++)
		create_and_fill(process, process->context, tree.portal, CULPRIT);
}

/* A statement that holds memory for a while, in which it is looked at. */
static void
run_statement(Process *process, MemoryContext context, int sites)
{
	int			parts = between(20, 60);

	for (int i = 0; i < parts; i++)
	{
		for (int k = 0; k < sites; k++)
			allocate(context, CULPRIT + k, process->size,
					 Max(1, process->bytes / parts / sites / (int64) process->size));
		process->held_bytes = (int64) process->bytes * (i + 1) / parts;
		simulated_wait(process->ways.step_us);
		look(process);
	}
}

/* It is over: what it held is freed. */
void
end_statement(Process *process)
{
	process->held_bytes = 0;
	process->is_over = true;
}

void
blame_statement(Process *process, int64 least)
{
	process->verdicts = BIT(PLH_VERDICT_QUERY);
	process->needs_census = true;	/* which has the limits */
	process->judgeable_bytes = Max(LARGE_BYTES, least);
	process->first_who = CULPRIT;
	process->last_who = CULPRIT + 199;
	process->size = magnitude(16, 64 * KB);
	process->judgeable_bytes = Max(process->judgeable_bytes,
								   sampled_enough(process, process->size));
	process->bytes = process->judgeable_bytes * (2.2 + 4 * pg_prng_double(&chance));
	process->steps = between(2, 20);
	process->number = between(0, process->steps - 1);	/* when it runs */
}

/* At one site, which no node limits. */
static void
prepare_large_statement(Process *process)
{
	blame_statement(process, 2 * node_limit());
	process->period = 1;
}

static void
step_large_statement(Process *process, int step)
{
	simulated_statement("SELECT json_agg(t) FROM t;");
	if (step != process->number)
		return;
	run_statement(process, tree.executor, process->period);
	end_statement(process);
}

/* At many. */
static void
prepare_large_statement_of_sites(Process *process)
{
	blame_statement(process, 16 * node_limit());
	process->period = between(2, 200);
}

/* A chunk that doubles, of the running statement. */
static void
prepare_large_chunk(Process *process)
{
	blame_statement(process, 2 * node_limit());
	process->bytes = 8 * process->judgeable_bytes;
}

static void
step_large_chunk(Process *process, int step)
{
	simulated_statement("SELECT string_agg(t, '') FROM t;");
	if (step != process->number)
		return;
	for (Size size = 8 * KB; (int64) size < process->bytes; size *= 2)
	{
		enlarge(tree.executor, CULPRIT, size > 8 * KB ? size / 2 : 0, size);
		process->held_bytes = size;
		for (int i = 0; i < 3; i++)
		{
			simulated_wait(process->ways.step_us);
			look(process);
		}
	}
	end_statement(process);
}

/* A hash table that is far beyond what its node may take. */
static void
prepare_large_node(Process *process)
{
	blame_statement(process, 2 * node_limit());
	process->context = "HashBatchContext";
	process->needs_census = true;
	process->judgeable_bytes *= 1.25;
	process->bytes *= 1.25;
}

static void
step_large_node(Process *process, int step)
{
	simulated_statement("SELECT * FROM a JOIN b USING (c);");
	if (step != process->number)
		return;
	run_statement(process, context_create(process->context, tree.executor), 1);
	end_statement(process);
}

/* Many nodes, each within its limit. */
static void
prepare_many_nodes(Process *process)
{
	blame_statement(process, 16 * node_limit());
	process->context = "HashBatchContext";
	process->needs_census = true;
	process->judgeable_bytes *= 1.25;
	process->limit = node_limit() * (0.4 + 0.5 * pg_prng_double(&chance));
	process->period = Max(9, (int) (2.4 * process->judgeable_bytes / process->limit));
}

static void
step_many_nodes(Process *process, int step)
{
	simulated_statement("SELECT * FROM partitioned JOIN another USING (c);");
	if (step != process->number)
		return;
	for (int i = 0; i < process->period; i++)
	{
		allocate(context_create(process->context, tree.executor), CULPRIT,
				 process->size, Max(1, process->limit / (int64) process->size));
		process->held_bytes += process->limit;
		simulated_wait(process->ways.step_us);
		look(process);
	}
	end_statement(process);
}

/* Subtransactions of one transaction. */
static void
prepare_subtransactions(Process *process)
{
	blame_statement(process, 0);
	process->verdicts = BIT(PLH_VERDICT_CONTEXTS) | BIT(PLH_VERDICT_QUERY);
	process->context = "CurTransactionContext";
	process->needs_census = true;
	process->size = 8 * KB;
	process->judgeable_bytes = Max(LARGE_BYTES, 2 * node_limit());
	process->bytes = process->judgeable_bytes * 2.4;
}

static void
step_subtransactions(Process *process, int step)
{
	simulated_statement("DO $$ ... EXCEPTION ... $$;");
	if (step != process->number)
		return;
	for (int64 i = 0; i < process->bytes / (8 * KB); i++)
	{
		create_and_fill(process, process->context, tree.transaction, CULPRIT);
		if (i % 256 == 0)
		{
			simulated_wait(process->ways.step_us);
			look(process);
		}
	}
	end_statement(process);
}

/* malloc outside of contexts; at no site, as without the malloc library. */
void
prepare_malloc(Process *process)
{
	process->verdicts = BIT(PLH_VERDICT_MALLOC);
	process->is_whole = process->needs_census = true;
	process->judgeable_bytes = LARGE_BYTES;
	process->period = between(1, 5);
	process->steps = Max(process->steps, 40 * process->period);
	process->bytes = LARGE_BYTES * (2.5 + 8 * pg_prng_double(&chance)) / process->steps;
	process->judgeable_bytes = Max(process->judgeable_bytes,
								   ENOUGH * process->bytes * process->period);
	take_time(process);
}

static void
step_malloc(Process *process, int step)
{
	simulated_statement("SELECT xpath('//a', x) FROM t;");
	if (step % process->period != 0)
		return;
	malloc_changes(process->bytes * process->period);
	process->held_bytes += process->bytes * process->period;
}

/* Memory that others map. */
static void
prepare_mapped(Process *process)
{
	prepare_malloc(process);
	process->verdicts = BIT(PLH_VERDICT_MAPPED);
	process->judgeable_bytes *= 2;
	process->bytes *= 2;
}

static void
step_mapped(Process *process, int step)
{
	simulated_statement("SELECT plv8();");
	if (step % process->period != 0)
		return;
	others_map(process->bytes * process->period);
	process->held_bytes += process->bytes * process->period;
}

/* What malloc keeps of a large statement; it may take it again for the next. */
#define KEPT_US INT64CONST(60000000)

static void
prepare_freed(Process *process)
{
	process->verdicts = BIT(PLH_VERDICT_FREED);
	process->is_whole = process->needs_census = true;
	process->judgeable_bytes = 64 * MB;
	process->bytes = magnitude(70 * MB, 4096 * MB);
	process->number = between(0, process->steps / 2);
	process->ways.step_us = Max(process->ways.step_us, 3 * KEPT_US / process->steps);
}

static void
step_freed(Process *process, int step)
{
	simulated_statement("SELECT large();");
	if (step != process->number)
		return;
	malloc_keeps(process->bytes);
	process->held_bytes = process->bytes;
	process->held_since_us = simulated_now_us() + KEPT_US;
}

/* Decoding of a long transaction. */
static void
prepare_decoding(Process *process)
{
	prepare_contexts(process);
	process->verdicts = BIT(PLH_VERDICT_QUERY);
	process->context = "TXN";
}

/* Nothing beside what all do. */
static void
prepare_ordinary(Process *process)
{
	process->is_settled = true;
}

static void
step_ordinary(Process *process, int step)
{
	simulated_statement("SELECT 1;");
}

/* A cache of PostgreSQL's, or of an extension; filled in order or at random. */
static void
prepare_cache_of(Process *process, int64 least, int64 most)
{
	double		turns = 1.0 + pg_prng_double(&chance);

	process->is_settled = false;
	process->number = magnitude(20, 2000);	/* keys */
	process->keys = calloc(process->number, sizeof(bool));
	process->in_order = happens(0.5);
	process->period = Max(16, process->steps / 4);	/* to go through all */
	process->ways.step_us = Max(process->ways.step_us, 30000);
	process->steps = process->period * (process->in_order ? 4 : 10) * turns;
	process->count = (process->number + process->period - 1) / process->period;
	process->bytes = magnitude(least, most) / process->number;
	process->bytes = Max(16, process->bytes);
	process->size = magnitude(16, 64 * KB);
	process->size = Min((int64) process->size, process->bytes);
	process->limit = 0;
}

static void
step_cache_as(Process *process, int step, int who)
{
	for (int64 i = 0; i < process->count; i++)
	{
		int64		key = process->in_order ? process->limit++ :
			between(0, process->number - 1);

		if (key >= process->number || process->keys[key])
			continue;
		process->keys[key] = true;
		simulated_statement("SELECT cached(%d);", process->period > 100 ? (int) key : 1);
		allocate(process->own, who, process->size,
				 Max(1, process->bytes / (int64) process->size));
	}
	process->is_settled = who == CORE_CACHE ||
		step > process->period * (process->in_order ? 3 : 8);
	process->is_filling = who == CORE_CACHE &&
		step <= process->period * (process->in_order ? 2 : 6);
}

static void
prepare_core_cache(Process *process)
{
	prepare_cache_of(process, 100 * KB, 150 * MB);
	process->own = tree.cache;
}

static void
step_core_cache(Process *process, int step)
{
	step_cache_as(process, step, CORE_CACHE);
}

static void
prepare_extension_cache(Process *process)
{
	prepare_cache_of(process, 50 * KB, 100 * MB);
	process->own = lasting_context(process);
}

static void
step_extension_cache(Process *process, int step)
{
	step_cache_as(process, step, CULPRIT);
}

/* It has become less by much, and that was seen. */
static void
note_fall(Process *process)
{
	process->limit += process->ways.counted_from_us < 0 ||
		simulated_now_us() > process->ways.counted_from_us + USECS_PER_SEC;
	process->is_settled = process->limit > 2;
}

/* A queue of the session, emptied now and then, after it was as full as ever or less. */
static void
prepare_queue(Process *process)
{
	process->own = context_create("a queue", tree.top);
	process->period = between(2, 40);
	process->steps = Max(process->steps, 6 * process->period);
	process->bytes = magnitude(100 * KB, 100 * MB) / process->period;
	process->size = magnitude(16, 4 * MB);
	process->size = Min((int64) process->size, Max(16, process->bytes));
	process->count = Max(1, process->bytes / (int64) process->size);
	process->number = between(1, process->period);
}

static void
step_queue(Process *process, int step)
{
	simulated_statement("SELECT work();");
	allocate(process->own, CULPRIT, process->size, process->count);
	if (--process->number > 0 && step < process->steps - 1)
		return;
	context_reset(process->own);
	process->number = between(process->period / 2 + 1, process->period);
	note_fall(process);
}

/* A buffer that has become as large as it gets, and is used again. */
static void
prepare_buffer(Process *process)
{
	process->is_settled = true;
	process->own = lasting_context(process);
	process->limit = magnitude(64 * KB, 15 * MB);
	process->size = 0;
}

static void
step_buffer(Process *process, int step)
{
	simulated_statement("SELECT to_buffer();");
	if (process->size >= (Size) process->limit)
		return;
	enlarge(process->own, CULPRIT, process->size, process->size == 0 ? 1024 : 2 * process->size);
	process->size = process->size == 0 ? 1024 : 2 * process->size;
}

/* Something that is loaded once. */
static void
prepare_loaded(Process *process)
{
	process->is_settled = true;
	process->own = lasting_context(process);
	process->size = magnitude(16, MB);
	process->count = Max(1, magnitude(100 * KB, 24 * MB) / (int64) process->size / 2);
	process->number = between(0, process->steps / 2);
}

static void
step_loaded(Process *process, int step)
{
	simulated_statement("SELECT load();");
	if (step == process->number || step == process->number + 1)
		allocate(process->own, CULPRIT, process->size, process->count);
}

/* A statement within its limits: some nodes, and a little beside them. */
static void
prepare_within_limits(Process *process)
{
	process->is_settled = true;
	process->steps = between(2, 20);
	process->period = between(1, 12);
	process->size = magnitude(16, 64 * KB);
}

static void
step_within_limits(Process *process, int step)
{
	int			parts = between(5, 20);

	simulated_statement("SELECT * FROM a JOIN b USING (c) ORDER BY d;");
	for (int i = 0; i < process->period; i++)
	{
		MemoryContext node = context_create(i % 2 == 0 ? "HashBatchContext" :
											"TupleSort main", tree.executor);
		int64		bytes = node_limit() * (0.1 + 0.9 * pg_prng_double(&chance));

		for (int k = 0; k < parts; k++)
		{
			allocate(node, CULPRIT + i % 2, process->size,
					 Max(1, bytes / parts / (int64) process->size));
			simulated_wait(process->ways.step_us / parts);
			look(process);
		}
	}
	allocate(tree.executor, SMALL_QUERY, process->size,
			 Max(1, 2 * MB / (int64) process->size));
	look(process);
}

/* Statements that are prepared, but not too many. */
static void
prepare_few_prepared(Process *process)
{
	process->is_settled = true;
	process->size = magnitude(2 * KB, 32 * KB);
	process->limit = magnitude(50, 3000);
	process->limit = Min(process->limit, 20 * MB / (int64) process->size);
	process->count = Max(1, process->limit / between(1, process->steps));
}

static void
step_few_prepared(Process *process, int step)
{
	static const char *const names[] = {"CachedPlanSource", "CachedPlanQuery", "CachedPlan"};

	simulated_statement("PREPARE s%d AS SELECT 1;", step);
	for (int64 i = 0; i < process->count && process->number < process->limit; i++)
		create_and_fill(process, names[process->number++ % 3], tree.cache, PREPARE);
}

/* A library whose memory goes up and down. */
void
prepare_library(Process *process)
{
	process->period = between(3, 40);
	process->steps = Max(process->steps, 6 * process->period);
	process->bytes = magnitude(MB, 100 * MB) / process->period;
	process->number = process->period;
}

static void
step_library(Process *process, int step)
{
	simulated_statement("SELECT jit();");
	malloc_changes(process->bytes);
	if (--process->number > 0)
		return;
	malloc_changes(-process->bytes * process->period);
	process->number = between(process->period / 2 + 1, process->period);
	note_fall(process);
}

const Kind	kinds[] = {
	{"leak of a site", false, prepare_leak, step_leak},
	{"leak of a site that frees much", false, prepare_leak_in_churn, step_leak_in_churn},
	{"leak of 20 to 300 sites", false, prepare_many_sites, step_many_sites},
	{"leak in statements of many shapes", false, prepare_many_statements, step_many_statements},
	{"leak in one of some transactions", false, prepare_stepped, step_stepped},
	{"leak with teeth", false, prepare_teeth, step_teeth},
	{"array that doubles", false, prepare_doubling, step_doubling},
	{"buffer enlarged in steps", false, prepare_enlarged, step_enlarged},
	{"left by a few transactions", false, prepare_held, step_held},
	{"contexts", false, prepare_contexts, step_contexts},
	{"prepared statements", false, prepare_prepared, step_prepared},
	{"functions replaced", false, prepare_functions, step_functions},
	{"cursors WITH HOLD", false, prepare_cursors, step_cursors},
	{"decoding", false, prepare_decoding, step_contexts},
	{"statement, one site", false, prepare_large_statement, step_large_statement},
	{"statement, many sites", false, prepare_large_statement_of_sites, step_large_statement},
	{"statement, chunk that doubles", false, prepare_large_chunk, step_large_chunk},
	{"statement, one node", false, prepare_large_node, step_large_node},
	{"statement, many nodes", false, prepare_many_nodes, step_many_nodes},
	{"subtransactions", false, prepare_subtransactions, step_subtransactions},
	{"malloc", false, prepare_malloc, step_malloc},
	{"mapped", false, prepare_mapped, step_mapped},
	{"freed", false, prepare_freed, step_freed},
	{"leak at places below a function", false, prepare_leaves, step_leaves},
	{"leak below recursion", false, prepare_recursion, step_recursion},
	{"two leaks", false, prepare_two_leaks, step_two_leaks},
	{"malloc that does not tell", false, prepare_silent_malloc, step_malloc},
	{"index build beyond its limit", false, prepare_large_index, step_index},
	{"ordinary", true, prepare_ordinary, step_ordinary},
	{"PostgreSQL's own cache", true, prepare_core_cache, step_core_cache},
	{"cache of an extension", true, prepare_extension_cache, step_extension_cache},
	{"queue", true, prepare_queue, step_queue},
	{"buffer used again", true, prepare_buffer, step_buffer},
	{"loaded once", true, prepare_loaded, step_loaded},
	{"statement within its limits", true, prepare_within_limits, step_within_limits},
	{"few prepared statements", true, prepare_few_prepared, step_few_prepared},
	{"library, up and down", true, prepare_library, step_library},
	{"library, malloc does not tell", true, prepare_silent_library, step_library},
	{"open cursor", true, prepare_cursor, step_cursor},
	{"index build", true, prepare_index, step_index}
};
const int	kind_count = lengthof(kinds);

/* Settings and habits of a process. */
static void
choose_ways(Process *process)
{
	static const uint32 intervals[] = {16 * KB, 64 * KB, 512 * KB, 512 * KB, 512 * KB, 4 * MB};
	static const int work_mems[] = {1024, 4096, 4096, 16384, 65536};

	process->ways.interval = intervals[between(0, lengthof(intervals) - 1)];
	process->ways.step_us = magnitude(1000, 10000000);
	process->ways.us_per_mb = magnitude(300, 20000);
	process->ways.counted_from_us = happens(0.05) ? -1 :
		happens(0.1) ? magnitude(1000000, 100000000) : 0;
	work_mem = work_mems[between(0, lengthof(work_mems) - 1)];
	maintenance_work_mem = 65536;
	process->steps = magnitude(40, 250);
	process->habits = between(0, 31);
	process->message_kb = magnitude(10, 300);
}

/*
 * What leaks is lost; but of three leaks one is a list that is only appended to, and what is
 * enlarged has its pointer.  All that is healthy is held, as caches, queues and pools are.  What is
 * held is told with its holder, as something that grows, until its size says more.
 */
static void
choose_fate(Process *process, uint64 seed, bool is_proven)
{
	process->is_proven = is_proven;
	if (!is_proven || process->context != NULL ||
		!(process->verdicts & (BIT(PLH_VERDICT_LEAK) | BIT(PLH_VERDICT_MALLOC))))
		return;
	process->is_held = process->is_enlarged || seed / 2 % 3 == 0;
	if (process->is_held)
		process->verdicts |= BIT(PLH_VERDICT_GROWING);
}

/* Prove what there is now.  What is freed later, of a queue that leaks, can be reached. */
void
process_prove(const Process *process)
{
	double		lost = process->is_held || process->kind->is_healthy ? 0.0 :
		process->held_bytes / (process->held_bytes + process->freed_later_bytes + 1.0);
	const Fate	fate = {.lost_part = lost,.holder = "a static variable"};
	int			last_who = process->first_who == WHO_DEEP(0) ? WHO_DEEP(MOST_LEVELS) :
		process->last_who;

	for (int who = process->first_who; who != 0 && who <= last_who; who++)
		simulated_fate(who, &fate);
	if (!process->kind->is_healthy && process->first_who == 0)
		simulated_fate_of_malloc(&fate);
	simulated_prove();
}

void
process_prepare(Process *process, const Kind *kind, uint64 seed, bool is_proven)
{
	memset(process, 0, sizeof(*process));
	process->kind = kind;
	process->causes = 1;
	process->is_asked = seed / 2 / kind_count % 2 == 0;
	pg_prng_seed(&chance, seed);
	choose_ways(process);
	simulated_begin(seed + 1, &process->ways);
	kind->prepare(process);
	simulated_set_ways(&process->ways);
	choose_fate(process, seed, is_proven);
	if (process->needs_census && process->ways.counted_from_us != 0)
		process->judgeable_bytes = PG_INT64_MAX;
}

/* What sessions do beside the cause. */
static void
follow_habits(Process *process)
{
	if (process->habits & USES_TABLES)
	{
		int			table = between(0, lengthof(process->cached) - 1);

		if (!process->cached[table])
			allocate(tree.cache, CORE_CACHE, between(300, 3000), 8);
		process->cached[table] = true;
	}
	if (process->habits & CHURNS)
		allocate_and_free(tree.top, CHURN, between(100, 2000), 200);
	allocate(tree.message, SMALL_QUERY, 1000, process->message_kb);
	if (process->habits & QUERIES)
		allocate(tree.executor, SMALL_QUERY, between(50, 8000), 100);
	if (process->habits & PREPARES && process->prepared < 200 && happens(0.3))
	{
		process->prepared++;
		allocate(context_create("CachedPlanSource", tree.cache), PREPARE, 700, 10);
	}
	if (process->habits & HAS_SMALL_CACHE && happens(0.1) && process->prepared < 300)
		allocate(tree.top, SMALL_CACHE, 100, 10);
}

void
process_step(Process *process, int step)
{
	simulated_transaction();
	follow_habits(process);
	process->kind->step(process, step);
	simulated_commit();
}
