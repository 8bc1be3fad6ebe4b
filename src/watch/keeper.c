/*
 * keeper.c
 *	  The background worker that makes dumps after a crash, tends them, and watches for findings.
 *
 * src/watch/README and src/crash/README say what it does, and when: some ten system calls every few
 * seconds while nothing changes.  Its lock tells sessions that they need not do its work.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/pidfile.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/fork.h"
#include "base/settings.h"
#include "crash/crash_dumps.h"
#include "process/profile_directory.h"
#include "watch/capacity_watch.h"
#include "watch/forecast_watch.h"
#include "watch/keeper.h"
#include "watch/server_limit.h"
#include "watch/verdict_watch.h"

/* If it fails, it is started again after this time. */
#define RESTART_SECONDS 60

/* It looks after the directory of the dumps so often. */
#define TEND_MS 5000

/* A session may have the lock for a second. */
#define LOCK_WAIT_MS 200

/* When it was looked after last, 0: never; only the keeper uses this. */
static PLH_SURVIVES_FORK int64 tended_at_us;

/* The postmaster finds it by its name. */
extern PGDLLEXPORT void pg_leakhunt_keeper_main(Datum arg);

/* Returns whether there was one before the time was over. */
static bool
wait_for_signal(long timeout_ms)
{
	bool		signalled = (WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
									   timeout_ms, PG_WAIT_EXTENSION) & WL_LATCH_SET) != 0;

	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return signalled;
}

/*
 * Have the lock of the directory that is there now, which may have been made anew since "lock" was
 * taken, -1 at first.  Returns false if a session has it.
 */
static bool
keep_lock(int *lock)
{
	int			taken;

	if (*lock >= 0 && !plh_crash_dumps_is_lock_lost(*lock))
		return true;
	taken = plh_crash_dumps_lock();
	if (taken < 0)
		return false;
	if (*lock >= 0)
		close(*lock);
	*lock = taken;
	return true;
}

/*
 * Is the server being stopped?  The postmaster says so in its pid file, before it ends its
 * children.
 */
static bool
server_stops(void)
{
	FILE	   *file = AllocateFile("postmaster.pid", "r");
	char		line[MAXPGPATH] = "";
	int			number = 0;

	if (file == NULL)
		return true;
	while (number < LOCK_FILE_LINE_PM_STATUS && fgets(line, sizeof(line), file) != NULL)
		number++;
	FreeFile(file);
	return number < LOCK_FILE_LINE_PM_STATUS ||
		strncmp(line, PM_STATUS_STOPPING, strlen(PM_STATUS_STOPPING)) == 0;
}

static bool
must_stop(void)
{
	return ShutdownRequestPending;
}

static void
tend_if_due(int *lock)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC);

	if (tended_at_us != 0 &&
		now_us < tended_at_us + plh_keeper_time(TEND_MS * INT64CONST(1000) * 9 / 10))
		return;
	tended_at_us = now_us;
	if (keep_lock(lock))
		plh_crash_dumps_tend(must_stop);
	plh_profile_directory_report_failure();
}

/* Do what is due.  The line in the log is what tests count. */
static void
look(int *lock)
{
	bool		looked;

	plh_server_limit_look();
	plh_capacity_watch_look();
	tend_if_due(lock);
	looked = plh_verdict_watch_look();
	elog(DEBUG1, "the pg_leakhunt keeper has looked%s", looked ? " for findings" : "");
}

/* Between two looks, in milliseconds. */
static int64
pause_ms(void)
{
	return Max(1, plh_keeper_time(plh_server_memory_limit > 0 ? PLH_SERVER_LIMIT_MS : TEND_MS));
}

/* Look until the server stops: for memory that runs out more often than for all else. */
static void
keep_looking(int *lock)
{
	int64		next_ms = 0;
	bool		signalled = true;

	while (!ShutdownRequestPending)
	{
		int64		left_ms = next_ms - plh_clock_us(CLOCK_MONOTONIC) / 1000;
		int64		forecast_ms;

		plh_forecast_watch_look();
		if (signalled || left_ms <= 0)
		{
			look(lock);
			left_ms = pause_ms();
			next_ms = plh_clock_us(CLOCK_MONOTONIC) / 1000 + left_ms;
		}
		forecast_ms = plh_forecast_watch_pause_ms();
		signalled = wait_for_signal(forecast_ms < 0 ? left_ms : Min(left_ms, forecast_ms));
	}
}

void
pg_leakhunt_keeper_main(Datum arg)
{
	int			lock = -1;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	while (!ShutdownRequestPending && !keep_lock(&lock))
		(void) wait_for_signal(LOCK_WAIT_MS);
	plh_crash_dumps_save(true, must_stop);
	plh_capacity_watch_start();
	keep_looking(&lock);

	/* after an exit with 0 the postmaster would never start it again */
	proc_exit(server_stops() ? 0 : 1);
}

/*
 * Have the postmaster start the worker, once there is nothing to recover any more.  If no place is
 * left for it, the postmaster says so in its log.
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
