/*
 * process.c
 *	  The life of a process as far as its profile goes: start, fork, first
 *	  samples, exit.
 *
 * A process has no file before it has kept a number of samples that says
 * something: most connections are over by then.  The file goes at a clean
 * exit; what a crash leaves is turned into a dump when the server starts next.
 */
#include "postgres.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xact.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/growth_dump.h"
#include "process/process.h"
#include "profile/baseline.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "sampler/census.h"
#include "sampler/control.h"
#include "sampler/live_samples.h"
#include "sampler/method_hooks.h"
#include "sampler/statement.h"
#include "symbols/symbol_cache.h"

/*
 * A profile is published from that many kept samples or live bytes on; or when
 * a process has become that large by other means, as large queries and libraries
 * that call malloc.
 */
#define PUBLISH_SAMPLES 5
#define PUBLISH_BYTES ((int64) 8 * 1024 * 1024)
#define PUBLISH_OWN_BYTES ((int64) 16 * 1024 * 1024)

/*
 * Stock is taken so often: while a process is busy; at the ends of transactions,
 * after which it may rest; and of those that may have allocated much.
 */
#define BUSY_GAP_US ((int64) 1000 * 1000)
#define SHORT_GAP_US ((int64) 50 * 1000)
#define LONG_GAP_US ((int64) 10 * 1000)
#define LONG_TRANSACTION_US ((int64) 2000)

#define LOOK_SAMPLES 16
#define LOOK_INTERVAL 4096

static char profile_directory[MAXPGPATH];
static const char *refusal;		/* why nothing is sampled; NULL if it is */
static bool preloaded;

/* Live bytes at which not to wait for LOOK_SAMPLES. */
static int64 next_look_bytes;

/* What the process samples. */
static uint32 current_interval;
static int	current_scope;

/* Kept samples at which to try to publish again after a failure. */
static int64 next_publish_try;

/*
 * Name the directory of the profiles: by which the data directory is, not by
 * what it is called, as in containers that share /dev/shm all have one name.
 */
static void
choose_directory(void)
{
	struct stat status = {0};
	uint64		identity[2];

	if (plh_fixed.profile_directory[0] != '\0')
	{
		strlcpy(profile_directory, plh_fixed.profile_directory,
				sizeof(profile_directory));
		return;
	}

	(void) stat(DataDir, &status);
	identity[0] = status.st_dev;
	identity[1] = status.st_ino;
	snprintf(profile_directory, sizeof(profile_directory),
			 "/dev/shm/pg_leakhunt.%u.%016llx", (unsigned) geteuid(),
			 (unsigned long long)
			 hash_bytes_extended((const unsigned char *) identity,
								 sizeof(identity), 0));
}

/*
 * Make the directory, or make sure that it is ours alone: /dev/shm is open to
 * everybody.  Returns NULL, or a sentence that says what is wrong.
 */
static char *
claim_directory(void)
{
	struct stat status;

	if (mkdir(profile_directory, S_IRWXU) != 0 && errno != EEXIST)
		return psprintf("Could not create directory \"%s\": %m.",
						profile_directory);
	if (lstat(profile_directory, &status) != 0)
		return psprintf("Could not stat directory \"%s\": %m.",
						profile_directory);
	if (!S_ISDIR(status.st_mode))
		return psprintf("\"%s\" is not a directory.", profile_directory);
	if (status.st_uid != geteuid())
		return psprintf("Directory \"%s\" belongs to another user.",
						profile_directory);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return psprintf("Directory \"%s\" is open to other users; its permissions must be u=rwx (0700).",
						profile_directory);
	return NULL;
}

/* Forked: what we have is the parent's. */
static void
after_fork_in_child(void)
{
	plh_profile_forget();
	plh_statement_forget();
	plh_control_forget();
	plh_census_forget();
	plh_method_hooks_forget();
	plh_growth_dump_forget();
	next_publish_try = 0;
	next_look_bytes = 0;
}

/*
 * What the process holds at least, as far as the samples tell.  At the default
 * interval two samples are worth a megabyte by themselves; by chance many a
 * short connection has two.
 */
double
plh_process_surely_live_bytes(const PlhProfileHeader *header)
{
	const PlhCounters *counters = &header->counters;

	double		error = plh_sampling_error_bytes(counters->live_variance,
												 counters->live_bytes,
												 counters->live_samples);

	return Max(0.0, counters->live_bytes - error);
}

/* Write the dump of an exiting process, if it should have one. */
static void
dump_at_exit(void)
{
	const PlhProfileHeader *header = plh_profile;
	const PlhDumpExtras extras = {.reason = "exit"};
	PlhProfileImage *image;
	PlhDumpResult result;

	if (!plh_dump_on_exit || plh_process_surely_live_bytes(header) < plh_dump_min_bytes)
		return;

	image = plh_profile_reader_own(header);
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
	plh_baseline_unlink(profile_directory, getpid());

	/* the postmaster is the last; what a crash left keeps the directory */
	if (preloaded && !IsUnderPostmaster)
	{
		plh_control_unlink();
		plh_baseline_unlink(profile_directory, 0);
		if (plh_fixed.profile_directory[0] == '\0')
			(void) rmdir(profile_directory);
	}
}

/*
 * Prepare this process, and those that it forks, for having profiles.
 * Returns NULL, or a sentence that says why that can't be done.
 */
const char *
plh_process_start(void)
{
	char	   *problem;

	preloaded = process_shared_preload_libraries_in_progress;
	choose_directory();
	problem = claim_directory();
	if (problem != NULL)
		return problem;
	if (pthread_atfork(NULL, NULL, after_fork_in_child) != 0 ||
		atexit(at_exit) != 0)
		return "Could not register for fork and exit.";
	plh_control_start(profile_directory, preloaded);
	return NULL;
}

/*
 * Nothing is going to be sampled: say why, now and to whoever asks.
 */
void
plh_process_give_up(const char *reason)
{
	refusal = MemoryContextStrdup(TopMemoryContext, reason);
	ereport(WARNING,
			(errmsg("pg_leakhunt is inactive"),
			 errdetail_internal("%s", refusal),
			 errhint("The server works as if pg_leakhunt had not been loaded.")));
}

/*
 * Fill in, or bring up to date, who we are.  A process learns what it is, and
 * for whom it works, some time after it was forked.
 */
static void
identify(PlhProfileHeader *header)
{
	header->backend_type = MyBackendType;
	header->database_oid = MyDatabaseId;
	header->role_oid = MyProc != NULL ? MyProc->roleId : InvalidOid;
	header->encoding = GetDatabaseEncoding();

	if (!IsUnderPostmaster)
		strlcpy(header->label, IsPostmasterEnvironment ?
				"postmaster" : "standalone backend", sizeof(header->label));
	else if (MyBgworkerEntry != NULL)
		strlcpy(header->label, MyBgworkerEntry->bgw_type,
				sizeof(header->label));
}

/*
 * Begin the profile of this process, which has none.  Returns false where
 * there is no memory for one.
 */
bool
plh_process_begin_profile(uint32 sample_interval, int scope)
{
	PlhProfileHeader *header;

	if (!plh_profile_begin())
		return false;

	header = plh_profile;
	header->pid = getpid();
	header->started_at = MyStartTimestamp;
	identify(header);
	plh_process_settings_changed(sample_interval, scope);
	return true;
}

/*
 * From now on samples are taken at that interval, 0 for none, and kept of
 * contexts in that scope.
 */
void
plh_process_settings_changed(uint32 sample_interval, int scope)
{
	PlhProfileHeader *header = plh_profile;

	current_interval = sample_interval;
	current_scope = scope;
	if (header == NULL)
		return;
	header->sample_interval = sample_interval;
	header->scope = scope;
}

/*
 * A sample was taken and, unless it was lost, kept.  With nearly every
 * allocation a sample, what follows is done for every LOOK_SAMPLES-th only.
 */
void
plh_process_sampled(void)
{
	PlhProfileHeader *header = plh_profile;

	if (header->sample_interval < LOOK_INTERVAL &&
		header->counters.total_samples > PUBLISH_SAMPLES &&
		header->counters.total_samples % LOOK_SAMPLES != 0 &&
		header->counters.live_bytes < next_look_bytes)
		return;

	next_look_bytes = header->counters.live_bytes + PUBLISH_BYTES;
	header->private_bytes = plh_live_samples_bytes() +
		plh_profile_private_bytes() + plh_symbol_cache_bytes();
	if (header->backend_type != MyBackendType ||
		header->database_oid != MyDatabaseId ||
		(header->role_oid == InvalidOid && MyProc != NULL))
		identify(header);
	if (plh_profile_file_is_published() && plh_census_take_if_older(BUSY_GAP_US))
		(void) plh_profile_file_verify();

	plh_growth_dump_if_due();

	if (!plh_profile_file_is_published() &&
		header->counters.total_samples >= next_publish_try &&
		(header->counters.total_samples >= PUBLISH_SAMPLES ||
		 header->counters.live_bytes >= PUBLISH_BYTES))
		plh_process_publish();
}

/*
 * Is this process so large that there should be a profile of it?  It is looked
 * at if that was last done at least so long ago.
 */
static bool
is_large(int64 gap_us)
{
	static int64 looked_at_us;
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	if (now_us < looked_at_us + gap_us)
		return false;
	looked_at_us = now_us;
	return plh_server_processes_own_bytes() >= PUBLISH_OWN_BYTES;
}

/*
 * Take stock of the process, which may have grown without a sample that was
 * kept; unless that was done less than so long ago.
 */
static void
take_stock(int64 gap_us)
{
	if (!plh_profile_file_is_published())
	{
		if (current_interval == 0 || !is_large(gap_us) ||
			(plh_profile == NULL &&
			 !plh_process_begin_profile(current_interval, current_scope)))
			return;
		plh_process_publish();
	}
	if (plh_profile_file_is_published() && plh_census_take_if_older(gap_us))
		(void) plh_profile_file_verify();
}

/*
 * A sample was taken that is out of scope; does no more than for every
 * LOOK_SAMPLES-th of small intervals.
 */
void
plh_process_sampled_out_of_scope(void)
{
	static uint32 samples;

	if (current_interval >= LOOK_INTERVAL || samples++ % LOOK_SAMPLES == 0)
		take_stock(BUSY_GAP_US);
}

static void
take_stock_after_short_transaction(void)
{
	take_stock(SHORT_GAP_US);
}

static void
take_stock_after_long_transaction(void)
{
	take_stock(LONG_GAP_US);
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
 * Make the profile visible to other processes, if there is one.  Without room
 * for a file, try again once there is twice as much to tell.
 */
void
plh_process_publish(void)
{
	PlhProfileHeader *header = plh_profile;
	char		path[MAXPGPATH + 16];
	char		temporary[MAXPGPATH + 16];

	if (header == NULL || plh_profile_file_verify())
		return;

	identify(header);
	header->process_start = plh_server_processes_start_ticks(header->pid);
	header->profile_bytes = plh_profile_file_bytes();
	snprintf(path, sizeof(path), "%s/%d", profile_directory, header->pid);
	snprintf(temporary, sizeof(temporary), "%s/tmp.%d", profile_directory,
			 header->pid);
	if (!plh_profile_file_publish(path, temporary))
		next_publish_try = 2 * header->counters.total_samples;
}

/*
 * Where the profiles are.
 */
const char *
plh_process_profile_directory(void)
{
	return profile_directory;
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
