/*
 * crash_dumps.c
 *	  Makes dumps of the profiles of processes that did not exit cleanly.
 *
 * A dump of a full profile takes a tenth of a second, and a crash of a server
 * may leave hundreds of profiles: neither the start of the server nor its
 * recovery waits for that.
 *
 * The keeper looks up the names of functions, as the binaries may be replaced
 * later.  Neither a dump nor a stop of the server depends on that: it ends after a
 * while, or when the server stops, and the second try to make a dump does without.
 *
 * A profile whose dump is being made has a name that says so.  If the name is
 * found by the next holder of the lock, then the one before was killed: perhaps
 * by this profile, so that it is tried only once more.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/dump_directory.h"
#include "process/crash_dumps.h"
#include "process/crashed_profiles.h"
#include "process/dump_report.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"

/* A session begins no further dump after this time. */
#define SESSION_US ((int64) 1000 * 1000)

/* The keeper looks up no names of functions after this time. */
#define NAMES_US ((int64) 60 * 1000 * 1000)

/* After a failure to write, sessions try no dump for so long. */
#define PAUSE_US ((int64) 600 * 1000 * 1000)

/* When the session must stop, by the monotonic clock. */
static int64 session_ends_at_us;

/* Names are looked up until then, by that clock, or until this says to stop. */
static int64 names_end_at_us;
static bool (*asked_to_stop) (void);

static const PlhCrashTexts *crash_texts;

void
plh_crash_dumps_start(const PlhCrashTexts *texts)
{
	crash_texts = texts;
}

/*
 * Take the lock, on the directory itself: a file of its own would keep the
 * directory from being removed.  The kernel releases the lock of a process that
 * is killed.
 */
int
plh_crash_dumps_lock(void)
{
	int			fd = open(plh_profile_directory_path(),
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
	{
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Is there no time any more to look up names? */
static bool
must_end_names(void)
{
	return asked_to_stop() || plh_clock_us(CLOCK_MONOTONIC) >= names_end_at_us;
}

/* What plh_errors_catch calls report_cause and write_dump with. */
typedef struct ImageCall
{
	const PlhProfileImage *image;
	bool		with_names;		/* look up those of functions */
	bool		written;		/* a dump was */
} ImageCall;

static void
report_cause(void *arg)
{
	const ImageCall *call = arg;

	crash_texts->report_cause(call->image, must_end_names);
}

/* Write the dump of a profile, and report it. */
static void
write_dump(void *arg)
{
	ImageCall  *call = arg;
	const PlhProfileImage *image = call->image;
	PlhDumpExtras extras = {
		.reason = "crash",
		.baseline = plh_baseline_file_read(plh_profile_directory_path(),
										   image)
	};
	PlhDumpResult result;

	if (call->with_names)
		crash_texts->add_symbols(image, &extras, must_end_names);
	call->written = plh_dump_write(image, &extras, true, &result);
	plh_dump_report(&result, WARNING);
	if (call->written)
		ereport(LOG,
				(errmsg("profile of process %d, which did not exit cleanly, saved as \"%s\"",
						image->header->pid, result.path)));
}

/*
 * Say what the process held, if the crash began with it, and write its dump.
 * Returns false if the dump can't be written.
 */
static bool
report_and_write(const PlhProfileImage *image, bool is_first_try,
				 bool with_names)
{
	ImageCall	call = {image, with_names && is_first_try && !must_end_names()};

	if (is_first_try && plh_death_has_cause(&image->header->death))
		(void) plh_errors_catch(report_cause, &call,
								psprintf("could not report what process %d held, which did not exit cleanly",
										 image->header->pid));
	if (!call.with_names ||
		!plh_errors_catch(write_dump, &call,
						  psprintf("could not look up the functions in the profile of process %d, which did not exit cleanly",
								   image->header->pid)))
	{
		call.with_names = false;
		write_dump(&call);
	}
	return call.written;
}

/*
 * Make the dump of a profile, with names of functions if wanted.  Returns false if
 * it could not be written, which it can't for the other profiles either.
 */
static bool
save_profile(PlhCrashedProfile *profile, bool with_names)
{
	const char *directory = plh_profile_directory_path();
	bool		is_first_try = profile->state == PLH_CRASHED_NEW;
	PlhCrashedState next = profile->state == PLH_CRASHED_TRIED ?
		PLH_CRASHED_RETRIED : PLH_CRASHED_TRIED;
	PlhProfileImage *image;
	bool		refused;
	bool		written;

	if (profile->state == PLH_CRASHED_RETRIED)
	{
		ereport(WARNING,
				(errmsg("profile of process %d, which did not exit cleanly, was not saved as a dump file",
						profile->pid),
				 errdetail("Two processes were killed while they tried.")));
		(void) plh_crashed_profiles_rename(directory, profile, PLH_CRASHED_SAVED);
		return true;
	}

	/* a file that is gone, or that a new process has put there, is left alone */
	if (!plh_crashed_profiles_rename(directory, profile, next))
		return true;
	image = plh_profile_reader_open(profile->path, false, &refused);
	if (image != NULL && image->alive)
	{
		plh_crashed_profiles_remove(directory, profile);
		return true;
	}
	written = image != NULL &&
		report_and_write(image, is_first_try, with_names);
	(void) plh_crashed_profiles_rename(directory, profile,
									   written || image == NULL ?
									   PLH_CRASHED_SAVED : PLH_CRASHED_FAILED);
	return written || image == NULL;
}

/* What plh_errors_catch calls save_profile with. */
typedef struct SaveCall
{
	PlhCrashedProfile *profile;
	bool		with_names;
	bool		saved;
} SaveCall;

static void
call_save_profile(void *arg)
{
	SaveCall   *call = arg;

	call->saved = save_profile(call->profile, call->with_names);
}

/*
 * Run save_profile, in a memory context of its own, as a profile may be large.
 * One that has an ERROR, as memory was short, is left for later, and the others
 * go on.
 */
static bool
save_profile_safely(PlhCrashedProfile *profile, bool with_names)
{
	SaveCall	call = {profile, with_names};

	if (plh_errors_catch(call_save_profile, &call,
						 psprintf("could not save the profile of process %d, which did not exit cleanly",
								  profile->pid)))
		return call.saved;
	(void) plh_crashed_profiles_rename(plh_profile_directory_path(), profile,
									   PLH_CRASHED_FAILED);
	return true;
}

/* Has it failed a short time ago to write a dump? */
static bool
has_just_failed(List *profiles)
{
	TimestampTz earliest = GetCurrentTimestamp() - PAUSE_US;
	ListCell   *cell;

	foreach(cell, profiles)
	{
		const PlhCrashedProfile *profile = lfirst(cell);

		if (profile->state == PLH_CRASHED_FAILED &&
			profile->renamed_at > earliest)
			return true;
	}
	return false;
}

/* Make the dumps of the listed profiles, until one can't be written. */
static void
save_profiles(List *profiles, bool with_names, bool (*must_stop) (void))
{
	ListCell   *cell;

	foreach(cell, profiles)
	{
		PlhCrashedProfile *profile = lfirst(cell);

		if (!profile->worth_dump)
		{
			if (profile->state != PLH_CRASHED_SAVED)
				(void) plh_crashed_profiles_rename(plh_profile_directory_path(),
												   profile, PLH_CRASHED_SAVED);
		}
		else if (must_stop() || !save_profile_safely(profile, with_names))
			break;
	}
}

/* What plh_errors_catch calls save with. */
typedef struct SaveAll
{
	bool		is_keeper;
	bool		(*must_stop) (void);
} SaveAll;

/* See plh_crash_dumps_save, which catches ERRORs. */
static void
save(void *arg)
{
	const SaveAll *all = arg;
	const char *directory = plh_profile_directory_path();
	List	   *profiles = plh_crashed_profiles_list(directory);

	profiles = plh_crashed_profiles_bound(directory, profiles);
	plh_crashed_profiles_remove_unpublished(directory);
	plh_crashed_profiles_remove_baselines(directory, profiles);
	if (all->is_keeper || profiles != NIL)
		plh_dump_directory_remove_abandoned();
	if (profiles == NIL || (!all->is_keeper && has_just_failed(profiles)))
		return;
	save_profiles(profiles, all->is_keeper, all->must_stop);

	/* those that have become dumps are in nobody's need now */
	(void) plh_crashed_profiles_bound(directory,
									  plh_crashed_profiles_list(directory));
}

/*
 * Make the dumps.  Interrupts wait: one that came in the middle of a dump would
 * look like a process that was killed.
 */
void
plh_crash_dumps_save(bool is_keeper, bool (*must_stop) (void))
{
	SaveAll		all = {is_keeper, must_stop};

	names_end_at_us = plh_clock_us(CLOCK_MONOTONIC) + NAMES_US;
	asked_to_stop = must_stop;
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(save, &all,
							"could not save the profiles of processes that did not exit cleanly");
	RESUME_INTERRUPTS();
}

static bool
session_must_stop(void)
{
	return plh_clock_us(CLOCK_MONOTONIC) >= session_ends_at_us;
}

/*
 * Make some of the dumps in a session, if there is no keeper: only the sessions
 * have loaded the module, or all places of background workers are taken.
 */
void
plh_crash_dumps_save_some(void)
{
	int			lock = plh_crash_dumps_lock();

	if (lock < 0)
		return;
	session_ends_at_us = plh_clock_us(CLOCK_MONOTONIC) + SESSION_US;
	plh_crash_dumps_save(false, session_must_stop);
	close(lock);
}
