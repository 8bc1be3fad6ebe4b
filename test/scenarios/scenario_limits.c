/*
 * scenario_limits.c
 *	  The memory limit of the process of a scenario, which is the real one.
 *
 * Stands in for what it asks of the server: whether a transaction is in progress, and
 * what ends a session.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"

#include "base/guard.h"
#include "base/settings.h"
#include "process/limit_report.h"
#include "sampler/countdown.h"
#include "sampler/process_limit.h"
#include "scenario_limits.h"
#include "scenario_server.h"
#include "simulated.h"

volatile uint32 QueryCancelHoldoffCount;
bool		proc_exit_inprogress;
const char *debug_query_string = "";
ProcessingMode Mode = NormalProcessing;

static bool has_failed;
static bool was_ended;

bool
IsTransactionState(void)
{
	return true;
}

/* The next allocation is to be looked at. */
void
plh_countdown_hurry(void)
{
	simulated_hurry();
}

/* A session that is to be ended ends itself. */
int
kill(pid_t pid, int signal)
{
	was_ended = true;
	return 0;
}

/* PlhLimitReporter */
static void
report(const PlhLimitExcess *excess)
{
	scenario_server_log_by(plh_limit_report, excess);
}

/* The slow path of an allocation, which runs where an ERROR would be caught. */
static bool
refuses(MemoryContext context, Size size, uint32 interval)
{
	sigjmp_buf	catching;
	bool		was_held = plh_guard_held;
	bool		refused;

	PG_exception_stack = &catching;
	plh_guard_held = false;
	refused = plh_process_limit_refuses(context, size, interval);
	plh_guard_held = was_held;
	PG_exception_stack = NULL;
	has_failed |= refused;
	return refused;
}

void
scenario_limits_begin(int action)
{
	plh_limit_action = action;
	plh_process_limit_start(report);
	plh_process_limit_forget();
	simulated_refuses = refuses;
}

bool
scenario_limits_take_failure(void)
{
	bool		failed = has_failed;

	has_failed = false;
	return failed;
}

bool
scenario_limits_take_end(void)
{
	bool		ended = was_ended;

	was_ended = false;
	return ended;
}
