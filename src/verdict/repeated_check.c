/*
 * repeated_check.c
 *	  A leak check that repeats what a statement does.
 *
 * Three things are not leaks though they make a call site hold more:
 *
 * - Caches that fill when a statement first runs: the warm-up fills them.
 * - Caches that fill, or are built anew, now and then: a site must have grown
 *	 in the first half of the iterations and in the second.  The catalog caches
 *	 are emptied before we look.
 * - Memory that the server keeps in session-long contexts until the transaction
 *	 ends, such as locks, and the files that a DROP TABLE is to delete.  The
 *	 caller's transaction can't be ended here.  So if a site has grown, all
 *	 iterations are repeated, each in a subtransaction that is rolled back: a
 *	 site that no longer grows in both halves was bound to a transaction.  Memory
 *	 that the server gives back only after the whole transaction is known by its
 *	 stack: plh_core_cache_has.
 *
 * Where the statement is to raise an error, all its executions are in subtransactions.
 *
 * Memory that malloc gives to libraries, and not to contexts, has call sites like
 * any other where malloc is sampled.  What these do not explain, as all of it where
 * malloc is not sampled, is only summed up: it must grow in both halves and in both
 * of their repetitions, each time from the end of the first iteration on, which
 * fills the caches that were emptied.
 *
 * Some memory has no call site: the blocks of a context in which nothing is ever
 * allocated, or was before the context got its place in the tree.  It shows as
 * contexts whose number grows.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "profile/profile_layout.h"
#include "verdict/checked_statement.h"
#include "verdict/repeated_check.h"

/* Error context callback: name the execution during which an error came. */
typedef struct Iteration
{
	const char *phase;
	int			number;
} Iteration;

static void
describe_iteration(void *arg)
{
	const Iteration *iteration = arg;

	errcontext("%s %d of pg_leakhunt_check", iteration->phase,
			   iteration->number);
}

/* Executions of the statement between two snapshots. */
typedef struct Phase
{
	const char *name;
	int			first;			/* numbers of its iterations */
	int			last;
	bool		roll_back;		/* each of them */
	bool		silent;			/* the first of them, too */
} Phase;

enum
{
	WARM_UP, FIRST_HALF, SECOND_HALF, FIRST_REPETITION, SECOND_REPETITION, PHASES
};

/* Run the statement once. */
static void
run_iteration(const PlhCheckRun *run, const Phase *phase, bool aloud)
{
	bool		fails = run->plan->fail == PLH_FAIL_STATEMENT;
	PlhExecution execution = {
		.roll_back = phase->roll_back || fails,
		.aloud = aloud,
		.takes_errors = fails,
		.error_memory = run->check->error == NULL ? run->memory : NULL
	};

	plh_checked_statement_execute(run->statements, &execution);
	run->check->executions++;
	run->check->raised += execution.raised;
	if (execution.error != NULL)
		run->check->error = execution.error;
}

/*
 * Run the statement as often as that phase says.  Returns what malloc has gained
 * per iteration, other than for memory contexts.
 */
static pg_noinline int64
run_phase(const PlhCheckRun *run, const Phase *phase)
{
	Iteration	iteration = {.phase = phase->name};
	ErrorContextCallback describing = {
		.previous = error_context_stack,
		.callback = describe_iteration,
		.arg = &iteration
	};
	PlhMallocSnapshot first = {0};	/* after the first iteration */
	int			counted = phase->last - phase->first;	/* iterations since */

	error_context_stack = &describing;
	for (iteration.number = phase->first; iteration.number <= phase->last;
		 iteration.number++)
	{
		CHECK_FOR_INTERRUPTS();
		run_iteration(run, phase, !phase->silent && iteration.number == phase->first);
		if (iteration.number == phase->first)
			first = plh_leak_snapshot_malloc();
	}
	error_context_stack = describing.previous;
	return counted <= 0 ? 0 : plh_leak_snapshot_malloc_since(&first, counted);
}

/* What malloc has gained in each iteration beside what leaks at sites of malloc. */
static int64
unexplained_gain(const PlhLeaks *found, int64 gained)
{
	double		bytes = 0;
	double		chunks = 0;

	for (int i = 0; i < found->count; i++)
	{
		const PlhLeak *leak = &found->leaks[i];

		if (leak->site == NULL ||
			leak->site->key.lifetime != PLH_LIFETIME_PROCESS)
			continue;
		bytes += (double) leak->bytes / leak->runs;
		chunks += (double) leak->count / leak->runs;
	}
	return plh_leak_snapshot_malloc_beside(gained, bytes, chunks);
}

/*
 * Iterate and compare.  The statement's effects stay, but those of the repetition that
 * confirms a finding are rolled back, and so are all where it is to raise an error.
 */
void
plh_repeated_check_run(const PlhCheckRun *run)
{
	int			iterations = run->plan->iterations;
	int			warmup = run->plan->warmup;
	int			half = iterations / 2;
	PlhLeakCheck *check = run->check;
	const Phase phases[PHASES] = {
		[WARM_UP] = {"warm-up iteration", 1, warmup, false, false},
		[FIRST_HALF] = {"iteration", 1, half, false, warmup > 0},
		[SECOND_HALF] = {"iteration", half + 1, iterations, false, true},
		[FIRST_REPETITION] = {"repeated iteration", 1, half, true, true},
		[SECOND_REPETITION] = {"repeated iteration", half + 1, iterations, true, true}
	};
	PlhLeakSnapshot after[PHASES];
	int64		gains[PHASES];	/* of malloc */
	const PlhLeakHalves iterated = {
		&after[WARM_UP], &after[FIRST_HALF], &after[SECOND_HALF]
	};
	const PlhLeakHalves repeated = {
		&after[SECOND_HALF], &after[FIRST_REPETITION], &after[SECOND_REPETITION]
	};

	for (int phase = WARM_UP; phase < PHASES; phase++)
	{
		if (phase == FIRST_REPETITION)
		{
			plh_found_leaks_find(&check->found, &iterated, iterations, run->memory);
			check->malloc_bytes = Min(gains[FIRST_HALF], gains[SECOND_HALF]);
			if (check->found.count == 0 && check->malloc_bytes == 0)
				return;
		}
		gains[phase] = run_phase(run, &phases[phase]);
		plh_check_run_settle(run);
		plh_leak_snapshot_take(&after[phase], run->memory);
	}
	plh_found_leaks_confirm(&check->found, &repeated);
	check->malloc_bytes =
		unexplained_gain(&check->found, Min(check->malloc_bytes,
											Min(gains[FIRST_REPETITION],
												gains[SECOND_REPETITION])));
}
