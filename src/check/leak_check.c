/*
 * leak_check.c
 *	  Runs a statement again and again and tells what stays behind each time.
 *
 * Every allocation in a context that lives as long as the session is a sample meanwhile, so that
 * the figures are exact.  repeated_check.c lets the statement do what it does, failing_check.c lets
 * its allocations fail.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "jit/jit.h"

#include "check/checked_statement.h"
#include "check/failing_check.h"
#include "check/leak_check.h"
#include "check/repeated_check.h"
#include "profile/bounded_growth.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "profile/profile_recycling.h"
#include "sampler/countdown.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"

/* See to it that this process has a profile. */
static void
need_profile(void)
{
	if (plh_profile == NULL && !plh_owner_begin_profile())
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Could not allocate a profile.")));
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
		plh_repeated_check_run(&run);
	plh_check_run_settle(&run);
	SPI_finish();
	plh_found_leaks_sort(&check->found);
}

/*
 * Run the statement "warmup" times, then "iterations" times, and find what each of these left
 * behind.
 */
void
plh_leak_check_run(const PlhLeakCheckPlan *plan, PlhLeakCheck *check)
{
	static bool running = false;
	bool		with_jit = jit_enabled;
	Size		bytes_before;
	MemoryContext caller_context = CurrentMemoryContext;

	check_not_busy(running);
	need_profile();
	memset(check, 0, sizeof(*check));
	running = true;

	/*
	 * JIT compiles anew for each execution, to other addresses, so that no
	 * stack would come a second time.
	 */
	jit_enabled = false;
	bytes_before = plh_bounded_growth_begin(plan->bounded);
	plh_countdown_track_all(true);
	plh_profile_recycling_suspend();
	PG_TRY();
	{
		run_plan(plan, check, caller_context);
	}
	PG_FINALLY();
	{
		plh_countdown_track_all(false);
		plh_bounded_growth_end(plan->bounded, bytes_before);
		plh_profile_recycling_resume();
		jit_enabled = with_jit;
		running = false;
	}
	PG_END_TRY();
}
