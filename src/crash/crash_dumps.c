/*
 * crash_dumps.c
 *	  Makes dumps of the profiles of processes that did not exit cleanly.
 *
 * A profile that a crash has left is a dump but for the end of the file: it is copied as it is,
 * with its baseline.  A crash of a server may leave hundreds of profiles, so that neither the start
 * of the server nor its recovery waits for that.
 *
 * The keeper looks up the names, as the binaries may be replaced later, and writes the dump once
 * more with them.  Neither a dump nor a stop of the server depends on that: it ends after a while,
 * or when the server stops.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "base/clock.h"
#include "base/settings.h"
#include "crash/child_deaths.h"
#include "crash/crash_dumps.h"
#include "crash/crashed_profiles.h"
#include "dump/dump_report.h"
#include "dump/dump_retention.h"
#include "process/dump_texts.h"
#include "process/errors.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "report/crash_report.h"
#include "report/dump_symbols.h"

/* A session begins no further dump after this time. */
#define SESSION_US ((int64) 1000 * 1000)

/* The keeper looks up no names of functions after this time. */
#define NAMES_US ((int64) 60 * 1000 * 1000)

/* A process that could not write a dump tries none for this time. */
#define PAUSE_US ((int64) 600 * 1000 * 1000)

/* What the directory of the dumps, and the settings of it, were at a look. */
typedef struct Tending
{
	struct timespec changed_at; /* the time of the directory */
	time_t		looked_at;		/* 0: never */
	int			keep;
	double		max_size;
	bool		text;
} Tending;

static struct
{
	/* these are by the monotonic clock */
	int64		session_ends_at_us; /* when the session must stop */
	int64		names_end_at_us;	/* until when names are looked up, */
	bool		(*asked_to_stop) (void);	/* or until this says to stop */
	int64		failed_at_us;	/* when a dump could not be written; 0: never */

	Tending		tended;			/* the last that was finished */
}			state;

/*
 * Take the lock, on the directory itself: a file of its own would keep the directory from being
 * removed.  The kernel releases the lock of a process that is killed.
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

/*
 * Somebody may have removed the directory, and a process that missed it has made it anew.  While
 * there is none, nobody else can have a lock.
 */
bool
plh_crash_dumps_is_lock_lost(int lock)
{
	struct stat locked;
	struct stat present;

	return fstat(lock, &locked) == 0 &&
		lstat(plh_profile_directory_path(), &present) == 0 &&
		(locked.st_dev != present.st_dev || locked.st_ino != present.st_ino);
}

/* Is there no time any more to look up names? */
static bool
must_end_names(void)
{
	return state.asked_to_stop() || plh_clock_us(CLOCK_MONOTONIC) >= state.names_end_at_us;
}

/* A profile whose dump is being made. */
typedef struct Saving
{
	PlhCrashedProfile *profile;
	bool		with_names;
	const PlhProfileImage *image;
	PlhDumpExtras extras;
	PlhDumpResult result;
} Saving;

/* Say what a process held that the crash began with. */
static void
report_cause(void *arg)
{
	const Saving *saving = arg;

	plh_crash_report_cause(saving->image, saving->result.failure == 0 ? saving->result.path : NULL,
						   must_end_names);
}

/* Write the dump once more, with the names of functions. */
static void
add_names(void *arg)
{
	Saving	   *saving = arg;
	PlhDumpResult result;

	plh_dump_symbols_make(plh_symbols_open_until(must_end_names), saving->image, &saving->extras);
	saving->extras.replaces = saving->result.path;
	(void) plh_dump_copy_write(saving->image, &saving->extras, &result);
	plh_dump_report(&result, WARNING);
}

/*
 * What is said of a dump, and added to it, once it is there or has failed.  A process that tries it
 * again, as it has failed, does not report the death again, even if this one should die of the
 * report.
 */
static void
explain(Saving *saving, int pid)
{
	const PlhDeath *death = &saving->image->header->death;

	if (plh_death_has_cause(death) && (death->kind & PLH_DEATH_REPORTED) == 0)
	{
		plh_child_deaths_note_reported(saving->profile, death);
		(void) plh_errors_catch(report_cause, saving,
								psprintf("could not report what process %d held, which did not exit cleanly",
										 pid));
	}
	if (saving->profile->given_up && saving->with_names && !must_end_names())
		(void) plh_errors_catch(add_names, saving,
								psprintf("could not look up the functions in the profile of process %d, which did not exit cleanly",
										 pid));
}

/*
 * Make the dump of a profile, unless it has become one of a new process.  The profile is given up
 * as soon as there is a dump: should this process die of what comes next, the next does not try it
 * again.
 */
static void
save_profile(void *arg)
{
	Saving	   *saving = arg;
	const char *directory = plh_profile_directory_path();
	bool		refused;

	saving->image = plh_profile_reader_open(saving->profile->path, false, &refused);
	if (saving->image == NULL || saving->image->alive)
		return;
	saving->extras.baseline = plh_baseline_file_read(directory, saving->image);
	if (plh_dump_copy_write(saving->image, &saving->extras, &saving->result))
	{
		plh_crashed_profiles_give_up(directory, saving->profile);
		ereport(LOG, (errmsg("profile of process %d, which did not exit cleanly, saved as \"%s\"",
							 saving->image->header->pid, saving->result.path)));
	}
	plh_dump_report(&saving->result, WARNING);
	explain(saving, saving->image->header->pid);
}

/*
 * Make the dumps of the listed profiles, until one can't be written.  One that has an ERROR, as
 * memory was short, is left for later.
 */
static void
save_profiles(List *profiles, bool with_names, bool (*must_stop) (void))
{
	ListCell   *cell;

	state.failed_at_us = 0;
	foreach(cell, profiles)
	{
		PlhCrashedProfile *profile = lfirst(cell);
		Saving		saving = {
			.profile = profile,
			.with_names = with_names,
			.extras = {.reason = "crash",.sync = true}
		};

		if (profile->given_up)
			continue;
		if (!profile->worth_dump)
		{
			plh_crashed_profiles_give_up(plh_profile_directory_path(), profile);
			continue;
		}
		if (must_stop())
			break;

		/* in a memory context of its own, as a profile may be large */
		if (!plh_errors_catch(save_profile, &saving,
							  psprintf("could not save the profile of process %d, which did not exit cleanly",
									   profile->pid)) ||
			saving.result.failure != 0)
			state.failed_at_us = plh_clock_us(CLOCK_MONOTONIC);
		if (saving.result.failure != 0)
			break;
	}
}

/* Has this process failed a short time ago to write a dump? */
static bool
has_just_failed(void)
{
	return state.failed_at_us != 0 && plh_clock_us(CLOCK_MONOTONIC) - state.failed_at_us < PAUSE_US;
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
		plh_dump_retention_remove_abandoned();
	if (profiles == NIL || has_just_failed())
		return;
	save_profiles(profiles, all->is_keeper, all->must_stop);

	/* those that have become dumps are in nobody's need now */
	(void) plh_crashed_profiles_bound(directory, plh_crashed_profiles_list(directory));
}

/*
 * Make the dumps.  Interrupts wait: what is half done would be done again.
 */
void
plh_crash_dumps_save(bool is_keeper, bool (*must_stop) (void))
{
	SaveAll		all = {is_keeper, must_stop};

	state.names_end_at_us = plh_clock_us(CLOCK_MONOTONIC) + plh_keeper_time(NAMES_US);
	state.asked_to_stop = must_stop;
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(save, &all,
							"could not save the profiles of processes that did not exit cleanly");
	RESUME_INTERRUPTS();
}

/*
 * Was all that the directory of the dumps has looked at before, with the settings of now?  What
 * comes in the same tick of the clock as another file does not change the directory's time.
 */
static bool
is_tended(Tending *now)
{
	const Tending *last = &state.tended;
	struct stat status;

	if (stat(plh_load_settings.dump_directory, &status) != 0)
		return true;
	now->changed_at = status.st_mtim;
	now->looked_at = time(NULL);
	now->keep = plh_dump_keep;
	now->max_size = plh_dump_max_size;
	now->text = plh_dump_text;
	return now->changed_at.tv_sec == last->changed_at.tv_sec &&
		now->changed_at.tv_nsec == last->changed_at.tv_nsec &&
		now->keep == last->keep && now->max_size == last->max_size &&
		now->text == last->text && now->changed_at.tv_sec < now->looked_at - 1;
}

/*
 * Tend the directory of the dumps, and try again to write what could not be written some time ago.
 */
void
plh_crash_dumps_tend(bool (*must_stop) (void))
{
	Tending		now;

	if (state.failed_at_us != 0 && !has_just_failed())
		plh_crash_dumps_save(true, must_stop);
	if (is_tended(&now))
		return;
	HOLD_INTERRUPTS();
	plh_dump_retention_remove_abandoned();
	plh_dump_texts_make_missing(state.tended.text ? state.tended.looked_at : 0, must_stop);
	plh_dump_report_removal(plh_dump_retention_trim());
	RESUME_INTERRUPTS();
	if (!must_stop())
		state.tended = now;
}

static bool
session_must_stop(void)
{
	return plh_clock_us(CLOCK_MONOTONIC) >= state.session_ends_at_us;
}

/*
 * Do some of it in a session, if there is no keeper: only the sessions have loaded the module, or
 * all places of background workers are taken.  What is said of the processes of others is for the
 * log alone, unless the caller sees all.
 */
void
plh_crash_dumps_save_some(bool sees_all)
{
	int			lock = plh_crash_dumps_lock();
	int			told_from = client_min_messages;

	if (lock < 0)
		return;
	if (!sees_all)
		client_min_messages = ERROR;
	state.session_ends_at_us = plh_clock_us(CLOCK_MONOTONIC) + SESSION_US;
	plh_crash_dumps_save(false, session_must_stop);
	plh_crash_dumps_tend(session_must_stop);
	client_min_messages = told_from;
	close(lock);
}
