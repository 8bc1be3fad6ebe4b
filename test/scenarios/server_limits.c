/*
 * server_limits.c
 *	  The memory limit of all processes of a scenario, which is the real one.
 *
 * Of several processes only the last one can act: those before it stay as they are.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"

#include "base/guard.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "reader/server_processes.h"
#include "sampler/process_limit.h"
#include "scenario_process.h"
#include "scenario_server.h"
#include "server_limits.h"
#include "simulated.h"
#include "watch/server_limit.h"

/* The place of a process goes by its pid, and here that is no system's. */
#define getpid() MyProcPid
#include "sampler/limit_places.c"
#undef getpid

static int	woken_pid;			/* by the keeper; 0: nobody */

#if PG_VERSION_NUM >= 170000
int
SendProcSignal(pid_t pid, ProcSignalReason reason, ProcNumber number)
#else
int
SendProcSignal(pid_t pid, ProcSignalReason reason, BackendId number)
#endif
{
	woken_pid = pid;
	return 0;
}

List *
plh_server_processes_children(void)
{
	return plh_server_processes_list();
}

int
plh_process_facts_parent(int pid)
{
	return PostmasterPid;
}

void
server_limits_set(Words *words)
{
	words_expect(words, "memory_limit");
	plh_server_memory_limit = words_size(words);
}

bool
server_limits_are_set(void)
{
	return plh_server_memory_limit > 0;
}

/* A transaction of the process is over, which had that statement; NULL: it was woken. */
static void
tell_of_commit(const char *query)
{
	const char *query_before = debug_query_string;

	debug_query_string = query;
	plh_guard_held = false;
	plh_process_limit_committed();
	plh_guard_held = true;
	debug_query_string = query_before;
}

void
server_limits_committed(void)
{
	tell_of_commit(scenario_process.query.text);
}

/* PlhLimitReporter */
static void
look(const PlhLimitExcess *excess)
{
	plh_server_limit_look();
}

void
server_limits_look(void)
{
	woken_pid = 0;
	scenario_server_log_by(look, NULL);
	if (woken_pid == MyProcPid && scenario_process_has_begun() &&
		scenario_process_is_idle())
		tell_of_commit(NULL);
}
