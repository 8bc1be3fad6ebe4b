/*
 * process.c
 *	  Follows a process: load, fork, the ends of transactions, exit.
 *
 * A process that exits cleanly removes the file of its profile.  A file that a
 * crash leaves behind becomes a dump (crash_dumps.h).
 */
#include "postgres.h"

#include <pthread.h>
#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "base/unwind.h"
#include "process/exit_dump.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/census.h"
#include "sampler/control.h"
#include "sampler/control_file.h"
#include "sampler/countdown.h"
#include "sampler/malloc_hooks.h"
#include "sampler/method_hooks.h"
#include "sampler/owner.h"
#include "sampler/statement.h"

static const char *refusal;		/* why nothing is sampled, or NULL */
static bool preloaded;			/* by the postmaster, for all processes */

/*
 * pthread_atfork's handlers.  The child has copies of its parent's samples and
 * requests, and must forget them before it records anything; libraries have
 * handlers, too, which may call malloc before ours is called there.  So where
 * malloc is sampled, the thread that is holds the guard over a fork.  Another thread
 * that forks must not touch it: the guard is not its own.
 */
static bool guard_was_held;

static void
before_fork(void)
{
	if (plh_malloc_hooks_samples_thread())
		guard_was_held = plh_guard_take();
}

static void
after_fork_in_parent(void)
{
	if (plh_malloc_hooks_samples_thread())
		plh_guard_restore(guard_was_held);
}

static PLH_EVERY_PROCESS void
after_fork_in_child(void)
{
#ifdef PLH_COMPARED_HITS
	plh_unwind_compared_stacks = 0;
#endif
	plh_stack_memo_forget();
	plh_owner_forget();
	plh_statement_forget();
	plh_control_forget();
	plh_method_hooks_forget();
	plh_malloc_hooks_forget();
	plh_guard_held = false;
	plh_countdown_forget();
}

/*
 * Remove what the processes of this server share.  The next server may have
 * started already, as postmaster.pid is gone: its files stay.  Profiles that a
 * crash has left keep the directory.
 */
static void
remove_shared_files(void)
{
	plh_profile_file_unlink();
	if (plh_control_file_unlink())
		plh_baseline_unlink(plh_profile_directory_path(), 0);
	plh_profile_directory_remove();
}

/*
 * exit() calls this in any kind of process, after PostgreSQL's own exit
 * callbacks.  An ERROR would be FATAL here, so nothing below may throw one.
 *
 * A build that was asked to compare all stacks (unwind.c) says how many there were.
 */
static PLH_EVERY_PROCESS void
at_exit(void)
{
	plh_countdown_stop();

	/* clients and hooks that take messages may be gone: use only the log */
	whereToSendOutput = DestNone;
	emit_log_hook = NULL;

	plh_baseline_unlink(plh_profile_directory_path(), getpid());
#ifdef PLH_COMPARED_HITS
	if (plh_unwind_compared_stacks > 0)
		ereport(LOG,
				(errmsg_internal("%llu stacks compared, %u wrong",
								 (unsigned long long) plh_unwind_compared_stacks,
								 plh_unwind_wrong_stacks)));
#endif

	/* the postmaster is the last process to exit; its dump may take time */
	if (preloaded && !IsUnderPostmaster)
		remove_shared_files();
	if (plh_profile != NULL && plh_profile->pid == (int32) getpid())
	{
		plh_exit_dump_write();
		plh_profile_file_unlink();
	}
}

/*
 * Prepare this process, and those that it forks, for having profiles.
 * Returns NULL, or a sentence that says why they can't have any.
 */
const char *
plh_process_start(void)
{
	const char *problem;

	preloaded = process_shared_preload_libraries_in_progress;
	problem = plh_profile_directory_claim();
	if (problem != NULL)
		return problem;
	if (preloaded)
		plh_profile_directory_note_server();
	if (pthread_atfork(before_fork, after_fork_in_parent,
					   after_fork_in_child) != 0 ||
		atexit(at_exit) != 0)
		return "Could not register for fork and exit.";
	plh_owner_start(plh_profile_directory_path(), GetSystemIdentifier());
	plh_control_start(plh_profile_directory_path(), preloaded);
	return NULL;
}

/*
 * Give up sampling in this process and those that it forks: say why, now by a
 * WARNING and later to every session that asks.
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

/*
 * Say why malloc is not sampled, though the library for it is preloaded; NULL if
 * there is nothing to say.
 */
void
plh_process_warn_of_malloc(const char *problem)
{
	if (problem != NULL)
		ereport(WARNING,
				(errmsg("pg_leakhunt does not sample malloc"),
				 errdetail_internal("%s", problem)));
}

/* transaction_over calls this guarded. */
static PLH_EVERY_PROCESS void
take_stock(void)
{
	TimestampTz end = PLH_TRANSACTION_END();

	plh_malloc_hooks_reap();
	if (plh_owner_wants_stock(end))
		plh_owner_transaction_over(end - GetCurrentTransactionStartTimestamp());
}

/*
 * XactCallback: take stock when a transaction commits, since the process may
 * be idle for long from now on.  When a transaction is aborted, its contexts still
 * exist, and a census would count them.
 */
static PLH_EVERY_PROCESS void
transaction_over(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE ||
		event == XACT_EVENT_ABORT)
	{
		plh_profile_counters_transaction_over();
		plh_countdown_mend();
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
		plh_guard_call(take_stock);
}

/*
 * Take stock, in this process and those that it forks, at the ends of
 * transactions.
 */
void
plh_process_watch_transactions(void)
{
	RegisterXactCallback(transaction_over, NULL);
}

/*
 * The sentence that says why nothing is sampled; NULL if sampling works.
 */
const char *
plh_process_refusal(void)
{
	return refusal;
}

/*
 * Has the postmaster loaded the module, so that all processes have it?
 */
bool
plh_process_is_preloaded(void)
{
	return preloaded;
}
