/*
 * process.c
 *	  Follows a process: load, fork, the ends of transactions, exit.
 *
 * A process that exits cleanly removes the file of its profile.  A file that a crash leaves behind
 * becomes a dump (crash_dumps.h).
 */
#include "postgres.h"

#include <pthread.h>
#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/resowner.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "process/capacity_dump.h"
#include "process/exit_dump.h"
#include "process/limit_report.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "process/statements_dump.h"
#include "process/trim.h"
#include "profile/baseline.h"
#include "profile/last_proof.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "proof/proof.h"
#include "sampler/census.h"
#include "sampler/control.h"
#include "sampler/control_file.h"
#include "sampler/countdown.h"
#include "sampler/current_site.h"
#include "sampler/doorbell.h"
#include "sampler/growth_dump.h"
#include "sampler/live_samples.h"
#include "sampler/malloc_hooks.h"
#include "sampler/owner.h"
#include "sampler/plan_nodes.h"
#include "sampler/planned_failure.h"
#include "sampler/process_limit.h"
#include "sampler/publication.h"
#include "sampler/statement_peaks.h"
#include "sampler/upkeep.h"
#include "stack/unwind.h"

/* A transaction from this length on may have allocated much. */
#define LONG_TRANSACTION_US 2000

static PLH_SET_AT_LOAD const char *refusal; /* why nothing is sampled, or NULL */
static PLH_SET_AT_LOAD bool preloaded;	/* by the postmaster, for all
										 * processes */

/* That the parent had found when it forked this process; set in the child. */
static PLH_SURVIVES_FORK uint32 parents_wrong_stacks;

/*
 * pthread_atfork's handlers.  The child has copies of its parent's samples and requests, and must
 * forget them before it records anything; libraries have handlers, too, which may call malloc
 * before ours is called there.  So where malloc is sampled, the thread that is holds the guard over
 * a fork.  Another thread that forks must not touch it: the guard is not its own.  The parent needs
 * this after the fork, and the child does not.
 */
static PLH_SURVIVES_FORK bool guard_was_held;

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

/* What is forgotten here, and what is not, stands in base/fork.h. */
static PLH_EVERY_PROCESS void
after_fork_in_child(void)
{
#ifdef PLH_COMPARED_HITS
	plh_unwind_compared_stacks = 0;
#endif
	parents_wrong_stacks = plh_unwind_wrong_stacks;
	plh_stack_memo_forget();
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_current_site_forget();
	plh_statement_peaks_forget();
	plh_control_forget();
	plh_live_samples_forget();
	plh_malloc_hooks_forget();
	plh_plan_nodes_forget();
	plh_census_forget();
	plh_growth_dump_forget();
	plh_process_limit_forget();
	plh_planned_failure_forget();
	plh_publication_forget();
	plh_upkeep_forget();
	plh_proof_forget();
	plh_guard_held = false;
	plh_countdown_forget();
}

/*
 * Remove what the processes of this server share.  The next server may have started already, as
 * postmaster.pid is gone: its files stay.  Profiles that a crash has left keep the directory.
 */
static void
remove_shared_files(void)
{
	plh_profile_file_unlink();
	plh_statements_dump_save();
	plh_capacity_dump_save();
	if (plh_control_file_unlink())
		plh_baseline_unlink(plh_profile_directory_path(), 0);
	plh_profile_directory_remove();
}

/* Say that stacks of this process may be wrong, which is a fault of ours. */
static void
report_wrong_stacks(void)
{
	uint32		count = plh_unwind_wrong_stacks - parents_wrong_stacks;

	ereport(LOG, (errmsg("pg_leakhunt may have shown wrong stacks of process %d", (int) getpid()),
				  errdetail_plural("%u remembered stack differed from libunwind's. Since then the process has used libunwind for each stack.",
								   "%u remembered stacks differed from libunwind's. Since the first of them the process has used libunwind for each stack.",
								   count, count),
				  errhint("This is a bug in pg_leakhunt. Please report it, with the versions of PostgreSQL and libunwind.")));
}

/*
 * exit() calls this in any kind of process, after PostgreSQL's own exit callbacks.  An ERROR would
 * be FATAL here, so nothing below may throw one.
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
	plh_proof_end_child();
#ifdef PLH_COMPARED_HITS
	if (plh_unwind_compared_stacks > 0)
		ereport(LOG, (errmsg_internal("%llu stacks compared, %u wrong",
									  (unsigned long long) plh_unwind_compared_stacks,
									  plh_unwind_wrong_stacks)));
#endif

	if (plh_unwind_wrong_stacks != parents_wrong_stacks)
		report_wrong_stacks();

	/* all but the logger exit before the postmaster; a dump may take time */
	if (preloaded && !IsUnderPostmaster)
		remove_shared_files();
	if (plh_profile != NULL && plh_profile->pid == (int32) getpid())
	{
		plh_profile->exits_since = GetCurrentTimestamp();
		plh_exit_dump_write();
		plh_profile_file_unlink();
	}
	plh_proof_remove();

	/* it exits last, and its profile was still in the directory */
	if (preloaded && MyBackendType == B_LOGGER)
		plh_profile_directory_remove();
}

/* Outside of palloc, where the server checks for interrupts. */
static void
answer_bell(void)
{
	plh_upkeep_if_asked();
	plh_proof_if_asked();
}

/*
 * Prepare this process, and those that it forks, for having profiles.  Returns NULL, or a sentence
 * that says why they can't have any.
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
	if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0 ||
		atexit(at_exit) != 0)
		return "Could not register handlers for fork and exit.";
	plh_process_limit_start(plh_limit_report);
	plh_doorbell_start(answer_bell);
	plh_proof_start(plh_profile_directory_path());
	plh_last_proof_start(plh_profile_directory_path());
	plh_owner_start(GetSystemIdentifier());
	plh_publication_start(plh_profile_directory_path());
	plh_statements_dump_start(plh_profile_directory_path(), GetSystemIdentifier(), preloaded);
	plh_capacity_dump_start(GetSystemIdentifier());
	plh_control_start(plh_profile_directory_path(), GetSystemIdentifier(), preloaded);
	return NULL;
}

/*
 * Give up sampling in this process and those that it forks: say why, now by a WARNING and later to
 * every session that asks.
 */
void
plh_process_give_up(const char *reason)
{
	Assert(refusal == NULL);
	refusal = MemoryContextStrdup(TopMemoryContext, reason);
	ereport(WARNING, (errmsg("pg_leakhunt is inactive"), errdetail_internal("%s", refusal),
					  errhint("The server works as if pg_leakhunt had not been loaded.")));
}

/*
 * Say why malloc is not sampled, though the library for it is preloaded; NULL if there is nothing
 * to say.
 */
void
plh_process_warn_of_malloc(const char *problem)
{
	if (problem != NULL)
		ereport(WARNING, (errmsg("pg_leakhunt does not sample malloc"),
						  errdetail_internal("%s", problem)));
}

static pg_noinline PLH_EVERY_PROCESS void
run_upkeep(void)
{
	TimestampTz end = PLH_TRANSACTION_END();
	bool		was_long = end - GetCurrentTransactionStartTimestamp() >= LONG_TRANSACTION_US;

	plh_upkeep_run(was_long ? PLH_UPKEEP_LONG_COMMIT : PLH_UPKEEP_SHORT_COMMIT, end);
}

/*
 * No part of transaction_over, which is called before each commit, too.  A jump out of a signal
 * handler, after which a countdown is to be mended, leads to an abort, or was caught: then the next
 * commit that counts will do.
 */
static pg_noinline PLH_EVERY_PROCESS void
committed(void)
{
	if (unlikely(plh_profile_counters_transaction_over()))
		plh_guard_call(plh_statement_peaks_transaction_over);
	plh_guard_call(plh_malloc_hooks_reap);
	if (likely(!plh_upkeep_counts_commit(PLH_TRANSACTION_TICK())))
		return;
	plh_countdown_mend();
	plh_trim_if_asked();
	plh_process_limit_committed();
	plh_guard_call(run_upkeep);
}

static pg_noinline PLH_EVERY_PROCESS void
aborted(void)
{
	if (plh_profile_counters_transaction_over())
		plh_guard_call(plh_statement_peaks_transaction_over);
	plh_countdown_mend();
}

/*
 * A transaction was aborted, or a parallel worker's part in its leader's is over.  No part of
 * transaction_over, which would have a table of jumps.
 */
static pg_noinline PLH_EVERY_PROCESS void
ended_otherwise(XactEvent event)
{
	if (event == XACT_EVENT_ABORT)
		aborted();
	else if (plh_profile_counters_transaction_over())
		plh_guard_call(plh_statement_peaks_transaction_over);
}

static pg_noinline PLH_EVERY_PROCESS void
publish_if_large(void)
{
	plh_upkeep_run(PLH_UPKEEP_PORTAL_OVER, plh_clock_us(CLOCK_MONOTONIC_COARSE));
}

/*
 * What a portal needed is released, while its transaction goes on.  A library may have grown
 * meanwhile, without a sample, and may stay so: as a driver does whose cursor is still open.  Until
 * the next statement nothing else happens here, and a process that nobody sees can't be asked.
 */
static PLH_EVERY_PROCESS void
portal_over(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	if (phase == RESOURCE_RELEASE_AFTER_LOCKS && is_commit && !is_top_level &&
		!plh_profile_file_is_published() && CritSectionCount == 0)
		plh_guard_call(publish_if_large);
}

/*
 * XactCallback: upkeep follows a commit, since the process may be idle for long from now on.  When
 * a transaction is aborted, its contexts still exist, and a census would count them.
 */
static PLH_EVERY_PROCESS void
transaction_over(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
		committed();
	else if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_COMMIT ||
			 event == XACT_EVENT_PARALLEL_ABORT)
		ended_otherwise(event);
}

void
plh_process_watch_transactions(void)
{
	RegisterXactCallback(transaction_over, NULL);
	RegisterResourceReleaseCallback(portal_over, NULL);
}

const char *
plh_process_refusal(void)
{
	return refusal;
}

bool
plh_process_is_preloaded(void)
{
	return preloaded;
}
