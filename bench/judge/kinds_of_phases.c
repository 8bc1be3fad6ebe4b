/*
 * kinds_of_phases.c
 *	  Kinds of processes whose cause is told by what the process is doing, or by its allocator.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "kinds.h"
#include "stacks.h"

/* A library grows in a process whose malloc does not tell what it has. */
void
prepare_silent_malloc(Process *process)
{
	prepare_malloc(process);
	malloc_is_of(PLH_ALLOCATOR_MIMALLOC);
}

/* There a library goes up and down. */
void
prepare_silent_library(Process *process)
{
	prepare_library(process);
	malloc_is_of(PLH_ALLOCATOR_MIMALLOC);
}

/* A transaction is idle with an open cursor, whose sorts and hash tables are within their limits. */
void
prepare_cursor(Process *process)
{
	process->is_settled = true;
	process->steps = between(2, 10);
	process->period = between(1, 6);	/* nodes of its plan */
	process->size = magnitude(16, 64 * KB);
	process->number = between(0, process->steps - 1);	/* when it is opened */
}

void
step_cursor(Process *process, int step)
{
	MemoryContext portal;

	simulated_statement("DECLARE c CURSOR FOR SELECT * FROM a JOIN b USING (c) ORDER BY d;");
	if (step != process->number)
		return;
	portal = context_create("PortalContext", tree.portal);
	for (int i = 0; i < process->period; i++)
	{
		int64		bytes = node_limit() * (0.1 + 0.9 * pg_prng_double(&chance));

		allocate(context_create(i % 2 == 0 ? "TupleSort main" : "HashBatchContext", portal),
				 CULPRIT + i % 2, process->size, Max(1, bytes / (int64) process->size));
		look(process);
	}
	simulated_finish();
	for (int i = 0; i < 30; i++)
	{
		simulated_wait(process->ways.step_us);
		look(process);
	}
	context_delete(portal);
}

/* An index is built. */
static void
choose_index(Process *process)
{
	static const int settings[] = {16384, 65536, 262144};

	maintenance_work_mem = settings[between(0, lengthof(settings) - 1)];
	process->limit = (int64) maintenance_work_mem * KB;
}

/* Its sort takes what it may. */
void
prepare_index(Process *process)
{
	choose_index(process);
	process->is_settled = true;
	process->steps = between(2, 10);
	process->number = between(0, process->steps - 1);
	process->size = magnitude(16, 64 * KB);
	process->bytes = process->limit * (0.1 + 0.85 * pg_prng_double(&chance));
}

/* Its comparison function leaves copies behind, and is called from all levels of the sort. */
void
prepare_large_index(Process *process)
{
	choose_index(process);
	/* what maintains a table may run a plan, too */
	blame_statement(process, 2 * Max(process->limit, node_limit()));
	process->first_who = process->last_who = WHO_DEEP(0);
}

void
step_index(Process *process, int step)
{
	int			parts = between(20, 60);
	MemoryContext sort;

	simulated_statement("CREATE INDEX ON t (c);");
	if (step != process->number)
		return;
	sort = context_create("TupleSort main", tree.executor);
	for (int i = 0; i < parts; i++)
	{
		allocate(sort, WHO_DEEP(between(1, MOST_LEVELS)), process->size,
				 Max(1, process->bytes / parts / (int64) process->size));
		if (!process->kind->is_healthy)
			process->held_bytes = process->bytes * (i + 1) / parts;
		simulated_wait(process->ways.step_us);
		look(process);
	}
	end_statement(process);
}
