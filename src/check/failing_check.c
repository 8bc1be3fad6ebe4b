/*
 * failing_check.c
 *	  A leak check that lets each allocation of a statement fail, one at a time.
 *
 * Each execution is in a subtransaction that is rolled back.
 *
 * First the statement runs without a failure: it fills the caches, and shows what it leaves behind
 * in any case.  Then its first allocation fails, its second, and so on, until an execution has
 * fewer.  After FIRST_NUMBERS of them, the distance grows with the number.
 *
 * What has stayed and is lost in the end, as a proof before the failures and one behind them tell,
 * is a leak of the failures after which it stayed: its call site has held more by then.
 *
 * Where something else stays, it may be a cache that the statement has not filled before.  So these
 * failures are tried again, in two halves as in leak_check.c: all of them at first, then half
 * of those that leave something, until it is known which do.  The caches are emptied before a look
 * at what is held, and then the statement would make other allocations: so it runs without a
 * failure before.  What stays beyond what is left in any case is what stays of a failure.
 *
 * All executions come from one call instruction, or their call sites would not be the same
 * (checked_statement.c).  Hence the steps: a step says what to run, and what was found after it
 * decides on the next.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "check/checked_statement.h"
#include "check/failing_check.h"
#include "check/proven_loss.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "reader/collections.h"
#include "stack/allocation_wrappers.h"

/* Each of the first allocations fails. */
#define FIRST_NUMBERS 1000

/* From there on, the distance is one in this number of those before. */
#define DISTANCE_PART 100

/* So often is a single failure repeated in each half. */
#define REPETITIONS 2

/* Failures that there is room for at first. */
#define FIRST_ROOM 64

typedef enum StepKind
{
	WARM_UP,
	FIRST_HALF,					/* of what stays in any case */
	SECOND_HALF,
	FILL_CACHES,				/* again, after they were emptied */
	SEARCH,						/* one allocation fails */
	BEGIN_REPETITION,
	REPEAT_FIRST_HALF,
	REPEAT_SECOND_HALF,
	NO_STEP
} StepKind;

/* What a call site holds more after a failure. */
typedef struct Remnant
{
	int			suspect;
	PlhHeld		held;
} Remnant;

/* A failure that leaves something, by the first look. */
typedef struct Suspect
{
	int64		number;
	uint32		site;
	bool		is_settled;		/* all of it is lost */
} Suspect;

/* Suspects that are repeated together. */
typedef struct Group
{
	int			first;
	int			count;
} Group;

typedef struct FailingCheck
{
	const PlhCheckRun *run;
	StepKind	step;
	int64		number;			/* of the allocation that fails in SEARCH */
	PlhPlannedFailure last;		/* what came of the last execution */

	/* What was held at the start, in the middle and at the end of two halves. */
	PlhLeakSnapshot ever[3];	/* without a failure */
	PlhLeakSnapshot repeated[3];
	MemoryContext repetition;	/* that has these */

	/* What was held before and after a failure, by turns. */
	PlhLeakSnapshot looks[2];
	MemoryContext look_memory[2];
	int			look;			/* the last */

	Suspect    *suspects;
	int			suspect_count;
	int			suspect_room;
	Remnant    *remnants;
	int			remnant_count;
	int			remnant_room;
	PlhCheckLoss lost[2];		/* before the failures, and behind them */
	Group	   *groups;			/* that are to be repeated, the next one last */
	int			group_count;
	int			group_room;
} FailingCheck;

/* Error context callback: which execution an error ends that ends the check. */
static void
describe_execution(void *arg)
{
	const PlhPlannedFailure *failure = arg;

	if (failure->number == 0)
		errcontext("execution by pg_leakhunt_check that is to raise no error");
	else
		errcontext("execution by pg_leakhunt_check in which allocation %lld was to fail",
				   (long long) failure->number);
}

/*
 * Run the statement once, with a failure unless the number is 0.  No condition stands before the
 * call, for which the compiler could make two of it.
 */
static pg_noinline void
execute(FailingCheck *failing, int64 number, bool is_dry)
{
	ErrorContextCallback describing = {
		.previous = error_context_stack,
		.callback = describe_execution,
		.arg = &failing->last
	};
	PlhExecution execution = {
		.roll_back = true,
		.takes_errors = number != 0,
		.failure = &failing->last
	};

	CHECK_FOR_INTERRUPTS();
	failing->last = (PlhPlannedFailure)
	{
		.number = number,.is_dry = is_dry
	};
	error_context_stack = &describing;
	plh_checked_statement_execute(failing->run->statements, &execution);
	error_context_stack = describing.previous;
}

/* The suspects that are being repeated. */
static const Group *
repeated_group(const FailingCheck *failing)
{
	return &failing->groups[failing->group_count - 1];
}

/* How often a step runs the statement without a failure at first. */
static int
successes_of(const FailingCheck *failing)
{
	int			iterations = failing->run->plan->iterations;

	switch (failing->step)
	{
		case WARM_UP:
			return Max(failing->run->plan->warmup, 1);
		case FIRST_HALF:
			return iterations / 2;
		case SECOND_HALF:
			return iterations - iterations / 2;
		case FILL_CACHES:
			return 2;
		case SEARCH:
			return 0;
		default:
			return 1;
	}
}

/* How often it runs it with one after that. */
static int
failures_of(const FailingCheck *failing)
{
	return failing->step == SEARCH ? 1 :
		failing->step >= BEGIN_REPETITION ? repeated_group(failing)->count : 0;
}

/* How often it does all of that. */
static int
rounds_of(const FailingCheck *failing)
{
	return failing->step > BEGIN_REPETITION && repeated_group(failing)->count == 1 ?
		REPETITIONS : 1;
}

/* One execution of a step. */
typedef struct Turn
{
	int64		number;			/* of the allocation that fails; 0: none */
	bool		is_dry;			/* it is only looked at, so that it can be
								 * told */
} Turn;

/* The number of the allocation that fails in that one of a step's failures. */
static int64
number_of(const FailingCheck *failing, int failure)
{
	return failing->step == SEARCH ? failing->number :
		failing->suspects[repeated_group(failing)->first + failure].number;
}

/*
 * Returns the execution with that number, from 0 on: where failures are to be told, each has two.
 * It is not inlined, as the compiler would make two calls of what comes next.
 */
static pg_noinline Turn
turn_of(const FailingCheck *failing, int i)
{
	int			runs = failing->run->plan->trace != NULL ? 2 : 1;
	int			successes = successes_of(failing);
	int			failure = i % (successes + runs * failures_of(failing)) - successes;
	Turn		turn = {0};

	if (failure >= 0)
	{
		turn.number = number_of(failing, failure / runs);
		turn.is_dry = failure % runs < runs - 1;
	}
	return turn;
}

/* How many executions a step has. */
static int
turns_of(const FailingCheck *failing)
{
	int			runs = failing->run->plan->trace != NULL ? 2 : 1;

	return (successes_of(failing) + runs * failures_of(failing)) * rounds_of(failing);
}

/* Run what the step says. */
static pg_noinline void
run_step(FailingCheck *failing)
{
	const PlhLeakCheckPlan *plan = failing->run->plan;
	int			count = turns_of(failing);

	for (int i = 0; i < count; i++)
	{
		Turn		turn = turn_of(failing, i);

		execute(failing, turn.number, turn.is_dry);
		if (turn.is_dry && failing->last.site != 0)
			plan->trace(&failing->last, plan->trace_argument);
	}
}

/* Note what is held when the caches are empty. */
static void
look_settled(FailingCheck *failing, PlhLeakSnapshot *snapshot, MemoryContext memory)
{
	plh_checked_statement_settle(failing->run);
	plh_leak_snapshot_take(snapshot, memory);
}

/* Note what is held.  Returns whether something has gained since the last look. */
static bool
look_again(FailingCheck *failing)
{
	int			before = failing->look;
	int			now = 1 - before;

	failing->look = now;
	MemoryContextReset(failing->look_memory[now]);
	plh_leak_snapshot_take(&failing->looks[now], failing->look_memory[now]);
	return plh_leak_snapshot_has_gained(&failing->looks[before], &failing->looks[now]);
}

static void
add_remnants(FailingCheck *failing)
{
	const PlhHeldSeries *before = &failing->looks[1 - failing->look].series[PLH_HOLDER_SITE];
	const PlhHeldSeries *now = &failing->looks[failing->look].series[PLH_HOLDER_SITE];

	for (int i = 0; i < now->count; i++)
	{
		PlhHeld		held = plh_held_series_gain(before, now, now->held[i].number);

		if (!plh_leak_snapshot_is_gain(PLH_HOLDER_SITE, held))
			continue;
		failing->remnants = plh_array_grow(failing->remnants, failing->remnant_count,
										   &failing->remnant_room, sizeof(Remnant));
		failing->remnants[failing->remnant_count++] = (Remnant)
		{
			failing->suspect_count, held
		};
	}
}

static void
add_suspect(FailingCheck *failing)
{
	add_remnants(failing);
	failing->suspects = plh_array_grow(failing->suspects, failing->suspect_count,
									   &failing->suspect_room, sizeof(Suspect));
	failing->suspects[failing->suspect_count++] = (Suspect)
	{
		.number = failing->number,.site = failing->last.site
	};
}

static int64
next_number(int64 number)
{
	return number + (number < FIRST_NUMBERS ? 1 : number / DISTANCE_PART);
}

static void
add_group(FailingCheck *failing, int first, int count)
{
	if (count == 0)
		return;
	failing->groups = plh_array_grow(failing->groups, failing->group_count,
									 &failing->group_room, sizeof(Group));
	failing->groups[failing->group_count++] = (Group)
	{
		first, count
	};
}

/*
 * Is all of it lost that failures have left at a site?  Not where the statement leaves something in
 * any case: that would count.
 */
static bool
is_all_lost(const FailingCheck *failing, int number)
{
	const PlhLeakHalves ever = {&failing->ever[0], &failing->ever[1], &failing->ever[2]};
	PlhHeld		lost = plh_held_series_gain(&failing->lost[0].lost, &failing->lost[1].lost, number);
	PlhHeld		held = {number, -lost.bytes, -lost.count};

	for (int i = 0; i < failing->remnant_count; i++)
	{
		if (failing->remnants[i].held.number == number)
		{
			held.bytes += failing->remnants[i].held.bytes;
			held.count += failing->remnants[i].held.count;
		}
	}
	return lost.count > 0 && plh_proven_loss_holds_by_chance(held, lost) &&
		!plh_leak_snapshot_grows(&ever, PLH_HOLDER_SITE, number);
}

static void
keep_lost(const FailingCheck *failing, const Remnant *remnant)
{
	const Suspect *suspect = &failing->suspects[remnant->suspect];
	const PlhLeak leak = {
		.site = plh_profile_image_site(plh_profile_image_own(plh_profile), remnant->held.number),
		.number = remnant->held.number,.is_lost = true,
		.bytes = remnant->held.bytes,.count = remnant->held.count,.runs = 1,
		.failures = 1,.first_failure = suspect->number,.failing_site = suspect->site
	};

	plh_found_leaks_merge(&failing->run->check->found, &leak, failing->run->memory);
}

/* Failures after which nothing stays but what is lost need not be repeated. */
static void
drop_settled(FailingCheck *failing)
{
	int			kept = 0;

	for (int i = 0; i < failing->suspect_count; i++)
	{
		if (!failing->suspects[i].is_settled)
			failing->suspects[kept++] = failing->suspects[i];
	}
	failing->suspect_count = kept;
}

/* All failures are over: what they have lost is known at once. */
static void
settle_lost(FailingCheck *failing)
{
	plh_checked_statement_prove(failing->run, &failing->lost[1]);
	if (!failing->lost[0].is_proven || !failing->lost[1].is_proven)
		return;
	for (int i = failing->remnant_count - 1; i >= 0; i--)
		failing->suspects[failing->remnants[i].suspect].is_settled = true;
	for (int i = 0; i < failing->remnant_count; i++)
	{
		const Remnant *remnant = &failing->remnants[i];

		if (is_all_lost(failing, remnant->held.number))
			keep_lost(failing, remnant);
		else
			failing->suspects[remnant->suspect].is_settled = false;
	}
	drop_settled(failing);
}

static StepKind
next_repetition(const FailingCheck *failing)
{
	return failing->group_count > 0 ? BEGIN_REPETITION : NO_STEP;
}

/* An allocation has failed, or the statement had fewer. */
static StepKind
search_over(FailingCheck *failing)
{
	if (failing->last.site == 0)
	{
		/* it may have fewer than the first time, as caches fill */
		failing->run->check->allocations = failing->last.passed;
		settle_lost(failing);
		add_group(failing, 0, failing->suspect_count);
		return next_repetition(failing);
	}
	failing->run->check->failed++;
	if (look_again(failing))
		add_suspect(failing);
	failing->number = next_number(failing->number);
	return SEARCH;
}

/*
 * Take off what the runs without a failure have left.  Those with one may have left as much, for
 * the same reason.  Returns whether anything remains beyond that.
 */
static bool
take_off_ever(const FailingCheck *failing, PlhLeak *leak, int64 successes)
{
	const PlhLeakHalves ever = {&failing->ever[0], &failing->ever[1], &failing->ever[2]};
	PlhHolder	holder = plh_found_leaks_holder(leak);
	PlhHeld		gained = plh_leak_snapshot_gain(&ever, holder, leak->number);
	double		part = (double) successes / failing->run->plan->iterations;
	double		most = (double) (successes + leak->runs) / failing->run->plan->iterations;

	if (!plh_leak_snapshot_grows(&ever, holder, leak->number))
		return true;
	if (leak->bytes <= gained.bytes * most && leak->count <= gained.count * most)
		return false;
	leak->bytes -= (int64) (gained.bytes * part);
	leak->count -= (int64) (gained.count * part);
	return true;
}

/* Find what the failures of a group have left each time. */
static PlhLeaks
found_in_group(const FailingCheck *failing)
{
	const PlhLeakHalves repeated = {
		&failing->repeated[0], &failing->repeated[1], &failing->repeated[2]
	};
	int64		rounds = 2 * rounds_of(failing);
	PlhLeaks	found;
	int			kept = 0;

	plh_found_leaks_find(&found, &repeated, rounds * repeated_group(failing)->count,
						 failing->repetition);
	for (int i = 0; i < found.count; i++)
	{
		if (!plh_found_leaks_has_lost(&failing->run->check->found, found.leaks[i].number) &&
			take_off_ever(failing, &found.leaks[i], rounds))
			found.leaks[kept++] = found.leaks[i];
	}
	found.count = kept;
	return found;
}

/* A single failure has been repeated: keep what it leaves. */
static void
keep_found(const FailingCheck *failing, const PlhLeaks *found)
{
	const Suspect *suspect = &failing->suspects[repeated_group(failing)->first];

	for (int i = 0; i < found->count; i++)
	{
		PlhLeak		leak = found->leaks[i];

		leak.failures = 1;
		leak.first_failure = suspect->number;
		leak.failing_site = suspect->site;
		plh_found_leaks_merge(&failing->run->check->found, &leak, failing->run->memory);
	}
}

/* A group has been repeated: if it leaves something, repeat each half of it. */
static StepKind
repetition_over(FailingCheck *failing)
{
	Group		group = *repeated_group(failing);
	PlhLeaks	found = found_in_group(failing);

	if (group.count == 1)
		keep_found(failing, &found);
	failing->group_count--;
	if (group.count > 1 && found.count > 0)
	{
		int			half = group.count / 2;

		add_group(failing, group.first + half, group.count - half);
		add_group(failing, group.first, half);
	}
	return next_repetition(failing);
}

/* Look at what is held after a step.  Returns the next one. */
static StepKind
step_over(FailingCheck *failing)
{
	MemoryContext memory = failing->run->memory;

	switch (failing->step)
	{
		case WARM_UP:
			look_settled(failing, &failing->ever[0], memory);
			return FIRST_HALF;
		case FIRST_HALF:
			look_settled(failing, &failing->ever[1], memory);
			return SECOND_HALF;
		case SECOND_HALF:
			look_settled(failing, &failing->ever[2], memory);
			return FILL_CACHES;
		case FILL_CACHES:
			plh_checked_statement_prove(failing->run, &failing->lost[0]);
			(void) look_again(failing);
			return SEARCH;
		case SEARCH:
			return search_over(failing);
		case BEGIN_REPETITION:
			MemoryContextReset(failing->repetition);
			look_settled(failing, &failing->repeated[0], failing->repetition);
			return REPEAT_FIRST_HALF;
		case REPEAT_FIRST_HALF:
			look_settled(failing, &failing->repeated[1], failing->repetition);
			return REPEAT_SECOND_HALF;
		case REPEAT_SECOND_HALF:
			look_settled(failing, &failing->repeated[2], failing->repetition);
			return repetition_over(failing);
		case NO_STEP:
			break;
	}
	return NO_STEP;
}

static MemoryContext
snapshot_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt snapshot",
								 ALLOCSET_DEFAULT_SIZES);
}

void
plh_failing_check_run(const PlhCheckRun *run)
{
	FailingCheck failing = {
		.run = run,
		.step = WARM_UP,
		.number = 1,
		.repetition = snapshot_context(),
		.look_memory = {snapshot_context(), snapshot_context()},
		.suspects = palloc(sizeof(Suspect) * FIRST_ROOM),
		.suspect_room = FIRST_ROOM,
		.remnants = palloc(sizeof(Remnant) * FIRST_ROOM),
		.remnant_room = FIRST_ROOM,
		.groups = palloc(sizeof(Group) * FIRST_ROOM),
		.group_room = FIRST_ROOM
	};

	plh_allocation_wrappers_locate();
	while (failing.step != NO_STEP)
	{
		run_step(&failing);
		failing.step = step_over(&failing);
	}
}
