/*
 * process.c
 *	  The life of a process as far as its profile goes: load, fork, the ends of
 *	  transactions, exit.
 *
 * The profile's file goes at a clean exit; the one that a crash leaves is turned
 * into a dump when the server starts next (sweep.h).
 */
#include "postgres.h"

#include <pthread.h>
#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "dump/dump.h"
#include "process/dump_report.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/control.h"
#include "sampler/method_hooks.h"
#include "sampler/owner.h"
#include "sampler/statement.h"

/*
 * Shortest time between two censuses at the end of a short transaction, after
 * which the process may go idle, and of a long one, which may have allocated
 * much.
 */
#define SHORT_GAP_US ((int64) 50 * 1000)
#define LONG_GAP_US ((int64) 10 * 1000)
#define LONG_TRANSACTION_US ((int64) 2000)

static const char *refusal;		/* why nothing is sampled; NULL if it is */
static bool preloaded;

/* pthread_atfork's handler: all that this process has is the parent's. */
static void
after_fork_in_child(void)
{
	plh_owner_forget();
	plh_statement_forget();
	plh_control_forget();
	plh_method_hooks_forget();
}

/* Write the dump of an exiting process, if it should have one. */
static void
dump_at_exit(void)
{
	const PlhProfileHeader *header = plh_profile;
	const PlhDumpExtras extras = {.reason = "exit"};
	PlhProfileImage *image;
	PlhDumpResult result;

	if (!plh_dump_on_exit || plh_profile_image_surely_live_bytes(header) < plh_dump_min_bytes)
		return;

	image = plh_profile_image_own(header);
	if (plh_dump_write(image, &extras, true, &result) && plh_log_summary)
		ereport(LOG,
				(errmsg("leak approximation summary: ~%lld bytes, ~%lld objects, >= %u call sites in \"%s\"",
						(long long) header->counters.live_bytes,
						(long long) header->counters.live_count,
						result.sites, result.path)));
	plh_dump_report(&result, WARNING);
}

/*
 * At exit(), in any kind of process, after PostgreSQL's own exit callbacks.
 * An ERROR would be FATAL here, so that nothing below may throw one.
 */
static void
at_exit(void)
{
	plh_method_hooks_stop();

	/* whoever gets reports beside the log may be gone already */
	whereToSendOutput = DestNone;
	emit_log_hook = NULL;

	if (plh_profile != NULL && plh_profile->pid == (int32) getpid())
	{
		dump_at_exit();
		plh_profile_file_unlink();
	}
	plh_baseline_unlink(plh_profile_directory_path(), getpid());

	/* the postmaster is the last; what a crash left keeps the directory */
	if (preloaded && !IsUnderPostmaster)
	{
		plh_control_unlink();
		plh_baseline_unlink(plh_profile_directory_path(), 0);
		plh_profile_directory_remove();
	}
}

/*
 * Prepare this process, and those that it forks, for having profiles.
 * Returns NULL, or a sentence that says why that can't be done.
 */
const char *
plh_process_start(void)
{
	const char *problem;

	preloaded = process_shared_preload_libraries_in_progress;
	problem = plh_profile_directory_claim();
	if (problem != NULL)
		return problem;
	if (pthread_atfork(NULL, NULL, after_fork_in_child) != 0 ||
		atexit(at_exit) != 0)
		return "Could not register for fork and exit.";
	plh_owner_start(plh_profile_directory_path());
	plh_control_start(plh_profile_directory_path(), preloaded);
	return NULL;
}

/*
 * Nothing is going to be sampled: say why, now and to whoever asks.
 */
void
plh_process_give_up(const char *reason)
{
	Assert(refusal == NULL);
	refusal = MemoryContextStrdup(TopMemoryContext, reason);
	ereport(WARNING,
			(errmsg("pg_leakhunt is inactive"),
			 errdetail_internal("%s", refusal),
			 errhint("The server works as if pg_leakhunt had not been loaded.")));
}

static void
take_stock_after_short_transaction(void)
{
	plh_owner_take_stock(SHORT_GAP_US);
}

static void
take_stock_after_long_transaction(void)
{
	plh_owner_take_stock(LONG_GAP_US);
}

/*
 * XactCallback: the process may be idle from now on, for long.  Of a
 * transaction that is aborted all contexts are still there.
 */
static void
transaction_over(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
		plh_method_hooks_call_guarded(GetCurrentTimestamp() -
									  GetCurrentTransactionStartTimestamp() <
									  LONG_TRANSACTION_US ?
									  take_stock_after_short_transaction :
									  take_stock_after_long_transaction);
}

/*
 * Look at this process, and those that it forks, at the ends of transactions.
 */
void
plh_process_watch_transactions(void)
{
	RegisterXactCallback(transaction_over, NULL);
}

/*
 * Why nothing is sampled, or NULL.
 */
const char *
plh_process_refusal(void)
{
	return refusal;
}

/*
 * Do all processes of this server have the module?
 */
bool
plh_process_is_preloaded(void)
{
	return preloaded;
}
