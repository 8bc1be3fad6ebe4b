/*
 * keeper.c
 *	  The background worker that makes dumps of what a crash has left.
 *
 * It works once when the server starts, and once when the server goes on after
 * a crash, as the postmaster then starts it again.  It stays, although it has
 * nothing more to do: the postmaster never starts a worker again that has
 * ended, and its lock tells sessions that they need not do its work.  While it
 * waits it costs no CPU time.
 *
 * It has no connection to a database, not even to none: so it has no part in
 * what sessions must wait for, however long it writes.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "process/crash_dumps.h"
#include "process/keeper.h"

/* If it fails, it is started again after this time. */
#define RESTART_SECONDS 60

/* A session may have the lock for a second. */
#define LOCK_WAIT_MS 200

/* The postmaster finds it by its name. */
extern PGDLLEXPORT void pg_leakhunt_keeper_main(Datum arg);

/* Wait for a signal, or for that time; -1 stands for ever. */
static void
wait_for_signal(long timeout_ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
					 (timeout_ms >= 0 ? WL_TIMEOUT : 0), timeout_ms,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

static bool
must_stop(void)
{
	return ShutdownRequestPending;
}

/*
 * The worker's main function.
 */
void
pg_leakhunt_keeper_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	/* the lock is held until the process ends */
	while (!ShutdownRequestPending && plh_crash_dumps_lock() < 0)
		wait_for_signal(LOCK_WAIT_MS);
	plh_crash_dumps_save(true, must_stop);
	while (!ShutdownRequestPending)
		wait_for_signal(-1);
	proc_exit(0);
}

/*
 * Have the postmaster start the worker, once there is nothing to recover any
 * more.  If no place is left for it, the postmaster says so in its log.
 */
void
plh_keeper_register(void)
{
	BackgroundWorker worker = {
		.bgw_name = PLH_KEEPER_NAME,
		.bgw_type = PLH_KEEPER_NAME,
		.bgw_flags = BGWORKER_SHMEM_ACCESS,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = RESTART_SECONDS,
		.bgw_library_name = "pg_leakhunt",
		.bgw_function_name = "pg_leakhunt_keeper_main"
	};

	RegisterBackgroundWorker(&worker);
}
