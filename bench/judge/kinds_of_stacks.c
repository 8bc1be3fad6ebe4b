/*
 * kinds_of_stacks.c
 *	  Kinds of processes whose cause is told by the functions that stacks have in common.
 */
#include "postgres.h"

#include "kinds.h"
#include "stacks.h"

/*
 * Nobody can tell a leak at many places from as many small caches before it is large, unless they
 * are few.
 */
static int64
judgeable_at(int places)
{
	return places < 4 ? places * SITE_BYTES : LARGE_BYTES;
}

static void
blame(Process *process, int first_who, int last_who, int places)
{
	blame_site(process, 1);
	process->first_who = first_who;
	process->last_who = last_who;
	process->judgeable_bytes = judgeable_at(places);
}

/* Each of the places has to have enough samples, unless they are judged together. */
static void
choose_chunks_of(Process *process, int places, Size most)
{
	int			apart = places < 4 ? places : 1;

	choose_chunks(process, most, apart * (2.5 + 3 * pg_prng_double(&chance)));
	process->judgeable_bytes *= apart;
}

/* Call sites of one function: one in each transaction, or all. */
void
prepare_leaves(Process *process)
{
	process->number = magnitude(3, 100);
	blame(process, WHO_BELOW(0, 0), WHO_BELOW(0, process->number - 1), process->number);
	process->in_order = happens(0.5);
	choose_chunks_of(process, process->number, 4 * KB);
}

void
step_leaves(Process *process, int step)
{
	simulated_statement("SELECT leak_at_places();");
	if (process->in_order)
		leak(process, WHO_BELOW(0, step % process->number), process->count);
	else
		for (int i = 0; i < process->number; i++)
			leak(process, WHO_BELOW(0, i), Max(1, process->count / process->number));
}

/* One call site below a function that calls itself. */
void
prepare_recursion(Process *process)
{
	process->number = between(2, MOST_LEVELS);
	blame(process, WHO_DEEP(0), WHO_DEEP(0), process->number);
	choose_chunks_of(process, process->number, 16 * KB);
}

void
step_recursion(Process *process, int step)
{
	simulated_statement("SELECT leak_in_tree();");
	for (int i = 1; i <= process->number; i++)
		leak(process, WHO_DEEP(i), Max(1, process->count / process->number));
}

/* Two functions that have nothing to do with each other, of one extension. */
void
prepare_two_leaks(Process *process)
{
	process->number = between(1, 5);	/* call sites of each */
	process->period = between(1, 3);	/* the first leaks that much more */
	blame(process, WHO_BELOW(0, 0), WHO_BELOW(1, MOST_LEAVES - 1),
		  process->number == 1 ? 1 : MOST_LEAVES);
	process->causes = 2;
	choose_chunks(process, 4 * KB, (1 + process->period) * (2.5 + 3 * pg_prng_double(&chance)));
	process->judgeable_bytes *= 1 + process->period;
}

void
step_two_leaks(Process *process, int step)
{
	int64		count = Max(1, process->count / process->number / (1 + process->period));

	simulated_statement("SELECT leak_twice();");
	for (int i = 0; i < process->number; i++)
	{
		leak(process, WHO_BELOW(0, i), count * process->period);
		leak(process, WHO_BELOW(1, i), count);
	}
}
