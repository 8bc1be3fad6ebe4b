/*
 * leak_check.c
 *	  Runs a statement again and again and tells what stays behind each time.
 *
 * What nothing points to afterwards is lost, and a leak: a proof before the iterations and one
 * after them tell what they have lost.  All else that stays is held by something, and is a leak if
 * it grows.
 *
 * Every allocation in a context that lives as long as the session is a sample meanwhile, so that
 * the figures are exact.  The statement does what it does; failing_check.c lets its allocations
 * fail.
 *
 * Three things are not leaks though they make a call site hold more, by pointers that lead there:
 *
 * - Caches that fill when a statement first runs: the warm-up fills them.
 * - Caches that fill, or are built anew, now and then: a site must have grown
 * 	 in the first half of the iterations and in the second.  The catalog caches
 * 	 are emptied before we look.
 * - Memory that the server keeps in session-long contexts until the transaction
 * 	 ends, such as locks, and the files that a DROP TABLE is to delete.  The
 * 	 caller's transaction can't be ended here.  So if a site has grown, all
 * 	 iterations are repeated, each in a subtransaction that is rolled back: a
 * 	 site that no longer grows in both halves was bound to a transaction.  Memory
 * 	 that the server gives back only after the whole transaction is known by its
 * 	 stack: plh_site_family_is_cache.
 *
 * Where the statement is to raise an error, all its executions are in subtransactions.
 *
 * Memory that malloc gives to libraries, and not to contexts, has call sites like any other where
 * malloc is sampled.  What these do not explain, as all of it where malloc is not sampled, is only
 * summed up: it must grow in both halves and in both of their repetitions, each time from the end
 * of the first iteration on, which fills the caches that were emptied.
 *
 * Some memory has no call site: the blocks of a context in which nothing is ever allocated, or was
 * before the context got its place in the tree.  It shows as contexts whose number grows.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "jit/jit.h"
#include "miscadmin.h"

#include "check/checked_statement.h"
#include "check/failing_check.h"
#include "check/leak_check.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "profile/profile_layout.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "sampler/countdown.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"

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

	errcontext("%s %d of pg_leakhunt_check", iteration->phase, iteration->number);
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

/* How an iteration runs the statement; not inlined, as phase_over. */
static pg_noinline PlhExecution
execution_of(const PlhCheckRun *run, const Phase *phase, int number)
{
	bool		fails = run->plan->fail == PLH_FAIL_STATEMENT;

	return (PlhExecution)
	{
		.roll_back = phase->roll_back || fails,
			.aloud = !phase->silent && number == phase->first,
			.takes_errors = fails,
			.error_memory = run->check->error == NULL ? run->memory : NULL
	};
}

static void
note_execution(PlhLeakCheck *check, const PlhExecution *execution)
{
	check->executions++;
	check->raised += execution->raised;
	if (execution->error != NULL)
		check->error = execution->error;
}

/*
 * Run the statement as often as that phase says.  Returns what malloc has gained per iteration,
 * other than for memory contexts.
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
	for (iteration.number = phase->first; iteration.number <= phase->last; iteration.number++)
	{
		PlhExecution execution = execution_of(run, phase, iteration.number);

		CHECK_FOR_INTERRUPTS();
		plh_checked_statement_execute(run->statements, &execution);
		note_execution(run->check, &execution);
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

		if (leak->site == NULL || leak->site->key.lifetime != PLH_LIFETIME_PROCESS)
			continue;
		bytes += (double) leak->bytes / leak->runs;
		chunks += (double) leak->count / leak->runs;
	}
	return plh_leak_snapshot_malloc_beside(gained, bytes, chunks);
}

/* The phases of a check, and what was held and gained after each. */
typedef struct RepeatedCheck
{
	const PlhCheckRun *run;
	Phase		phases[PHASES];
	PlhLeakSnapshot after[PHASES];
	PlhCheckLoss lost[PHASES];	/* of those that a comparison ends with */
	int64		gains[PHASES];	/* of malloc */
} RepeatedCheck;

/*
 * Find what is lost, and what has grown in both halves.  Returns whether that is to be confirmed.
 */
static bool
find_grown(RepeatedCheck *repeated)
{
	PlhLeakCheck *check = repeated->run->check;
	PlhLeakHalves halves = {
		&repeated->after[WARM_UP], &repeated->after[FIRST_HALF],
		&repeated->after[SECOND_HALF]
	};

	plh_checked_statement_set_loss(&halves, &repeated->lost[WARM_UP],
								   &repeated->lost[SECOND_HALF]);
	plh_found_leaks_find(&check->found, &halves, repeated->run->plan->iterations,
						 repeated->run->memory);
	check->malloc_bytes = Min(repeated->gains[FIRST_HALF], repeated->gains[SECOND_HALF]);
	return plh_found_leaks_has_grown(&check->found) || check->malloc_bytes > 0;
}

/* Keep what has grown in both halves of the repetition, too. */
static void
confirm_grown(RepeatedCheck *repeated)
{
	PlhLeakCheck *check = repeated->run->check;
	PlhLeakHalves halves = {
		&repeated->after[SECOND_HALF], &repeated->after[FIRST_REPETITION],
		&repeated->after[SECOND_REPETITION]
	};
	int64		gained = Min(repeated->gains[FIRST_REPETITION], repeated->gains[SECOND_REPETITION]);

	plh_checked_statement_set_loss(&halves, &repeated->lost[SECOND_HALF],
								   &repeated->lost[SECOND_REPETITION]);
	plh_found_leaks_confirm(&check->found, &halves);
	check->malloc_bytes = unexplained_gain(&check->found, Min(check->malloc_bytes, gained));
}

/*
 * Look at what is held after a phase.  Returns the next one.
 *
 * It is not inlined: where a compiler knows here which phase it is, it makes two loops of that
 * around it, and then an allocation has two call sites.
 */
static pg_noinline int
phase_over(RepeatedCheck *repeated, int phase, int64 gained)
{
	repeated->gains[phase] = gained;
	plh_checked_statement_settle(repeated->run);
	plh_leak_snapshot_take(&repeated->after[phase], repeated->run->memory);
	if (phase != FIRST_HALF && phase != FIRST_REPETITION)
		plh_checked_statement_prove(repeated->run, &repeated->lost[phase]);
	if (phase == SECOND_HALF && !find_grown(repeated))
		return PHASES;
	if (phase == SECOND_REPETITION)
		confirm_grown(repeated);
	return phase + 1;
}

/*
 * Iterate and compare.  The statement's effects stay, but those of the repetition that confirms a
 * finding are rolled back, and so are all where it is to raise an error.
 */
static void
repeat(const PlhCheckRun *run)
{
	int			iterations = run->plan->iterations;
	int			warmup = run->plan->warmup;
	int			half = iterations / 2;
	RepeatedCheck repeated = {
		.run = run,
		.phases = {
			[WARM_UP] = {"warm-up iteration", 1, warmup, false, false},
			[FIRST_HALF] = {"iteration", 1, half, false, warmup > 0},
			[SECOND_HALF] = {"iteration", half + 1, iterations, false, true},
			[FIRST_REPETITION] = {"repeated iteration", 1, half, true, true},
			[SECOND_REPETITION] = {"repeated iteration", half + 1, iterations, true, true}
		}
	};
	int			phase = WARM_UP;

	while (phase < PHASES)
		phase = phase_over(&repeated, phase, run_phase(run, &repeated.phases[phase]));
}

/* A check needs the sampling for itself. */
static void
check_not_busy(bool running)
{
	if (running)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("pg_leakhunt_check is running already"),
						errdetail("A statement that is checked cannot check another one.")));
	if (plh_plan_nodes_are_watched)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("pg_leakhunt_check cannot run within EXPLAIN (LEAKHUNT)"),
						errdetail("The nodes of the plan would not see what they hold meanwhile.")));
}

/* Run the statement as the plan says, and find what stays. */
static void
run_plan(const PlhLeakCheckPlan *plan, PlhLeakCheck *check, MemoryContext memory)
{
	PlhCheckRun run = {
		.plan = plan,.memory = memory,.check = check,
		.lost_before = plh_profile_image_lost_samples(plh_profile)
	};

	SPI_connect();
	run.statements = plh_checked_statement_split(plan->query);
	if (plan->fail == PLH_FAIL_EACH)
		plh_failing_check_run(&run);
	else
		repeat(&run);
	plh_checked_statement_settle(&run);
	SPI_finish();
	plh_found_leaks_sort(&check->found);
}

/*
 * Run the statement "warmup" times, then "iterations" times, and find what each of these left
 * behind.  A single one has no halves, so that nothing is found but what it has lost.
 */
void
plh_leak_check_run(const PlhLeakCheckPlan *plan, PlhLeakCheck *check)
{
	static bool running = false;
	bool		with_jit = jit_enabled;
	Size		bytes_before;
	MemoryContext caller_context = CurrentMemoryContext;

	check_not_busy(running);
	if (plh_profile == NULL && !plh_owner_begin_profile())
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Could not allocate a profile.")));
	memset(check, 0, sizeof(*check));
	running = true;

	/*
	 * JIT compiles anew for each execution, to other addresses, so that no
	 * stack would come a second time.
	 */
	jit_enabled = false;
	bytes_before = plh_profile_records_begin_bounded(plan->bounded);
	plh_countdown_track_all(true);
	plh_profile_recycling_suspend();
	PG_TRY();
	{
		run_plan(plan, check, caller_context);
	}
	PG_FINALLY();
	{
		plh_countdown_track_all(false);
		plh_profile_records_end_bounded(plan->bounded, bytes_before);
		plh_profile_recycling_resume();
		jit_enabled = with_jit;
		running = false;
	}
	PG_END_TRY();
}
