/*
 * crash_dumps.c
 *	  Makes dumps of what a crash has left, and logs what the process held that it began with.
 *
 * A profile that a crash has left is a dump but for the end of the file: it is copied as it is,
 * with its baseline.  src/crash/README says who does it and when, and how dumps get names.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
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
#include "report/death_text.h"
#include "report/dump_symbols.h"
#include "report/listed_site.h"
#include "report/words.h"

/* A session begins no further dump after this time. */
#define SESSION_US ((int64) 1000 * 1000)

/* The keeper looks up no names of functions after this time. */
#define NAMES_US ((int64) 60 * 1000 * 1000)

/* A process that could not write a dump tries none for this time. */
#define PAUSE_US ((int64) 600 * 1000 * 1000)

/* A statement is shown up to these bytes. */
#define SHOWN_STATEMENT_BYTES 200

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

static bool
must_end_names(void)
{
	return state.asked_to_stop() || plh_clock_us(CLOCK_MONOTONIC) >= state.names_end_at_us;
}

/* The site that held most in the end.  Returns false if none held anything. */
static bool
find_largest(const PlhProfileImage *image, PlhSiteFacts *largest)
{
	PlhSiteFacts facts;
	uint32		position = 0;
	int64		most_bytes = 0;

	while (plh_site_facts_next(&facts, image, NULL, &position))
	{
		if (facts.counters->live_bytes <= most_bytes)
			continue;
		most_bytes = facts.counters->live_bytes;
		*largest = facts;
	}
	return most_bytes > 0;
}

static void
append_site(StringInfo detail, const PlhListedSite *largest, int64 sampled_bytes)
{
	double		part = Min(1.0, (double) largest->bytes / sampled_bytes);
	const char *routine = plh_stack_text_routine(&largest->stack);

	appendStringInfo(detail, "  %d%% of the sampled memory was allocated at %s in %s%s%s.",
					 (int) (100 * part + 0.5), largest->stack.site,
					 plh_listed_site_context(largest),
					 routine != NULL ? ", called in " : "", routine != NULL ? routine : "");
}

/* Append what the process has counted last, as explanations do, and what came since. */
static void
append_counts(StringInfo detail, const PlhProfileHeader *header, const PlhHeldBytes *held)
{
	if (header->census_at == 0)
		return;
	appendStringInfo(detail, "  Last counted at %s: %s in memory contexts",
					 plh_words_time(header->census_at),
					 plh_words_size(header->context_bytes));
	if (header->malloc_bytes >= 0)
		appendStringInfo(detail, ", %s allocated with malloc outside of them",
						 plh_words_size(Max(0, header->malloc_bytes - header->context_bytes)));
	appendStringInfo(detail, ", %s of private memory%s.", plh_words_size(header->own_bytes),
					 header->own_bytes < plh_profile_image_counted_bytes(header) ?
					 " (pages that were written to)" : "");
	if (held->gained_bytes != 0)
		appendStringInfo(detail, "  By its samples it %s %s since then, which makes %s.",
						 held->gained_bytes > 0 ? "gained" : "lost",
						 plh_words_size(Max(held->gained_bytes, -held->gained_bytes)),
						 plh_words_size(held->bytes));
}

/* Only peaks that were higher than what it had in the end. */
static void
append_peaks(StringInfo detail, const PlhProfileHeader *header, const PlhHeldBytes *held)
{
	if (header->peak_bytes > held->bytes + held->error_bytes)
		appendStringInfo(detail, "  Its peak was %s (estimated from samples) at %s.",
						 plh_words_size(header->peak_bytes),
						 plh_words_time(header->peak_at));
	if (header->own_peak_bytes > header->own_bytes)
		appendStringInfo(detail, "  Its private memory was at most %s when it was counted, at %s.",
						 plh_words_size(header->own_peak_bytes),
						 plh_words_time(header->own_peak_at));
}

/* The text of the statement whose memory that is, cut; NULL if there is none. */
static const char *
shown_statement(const PlhListedSite *largest, int encoding)
{
	const char *query = largest != NULL ? largest->query : NULL;

	if (query == NULL)
		return NULL;
	if (!PG_VALID_BE_ENCODING(encoding))
		encoding = PG_SQL_ASCII;
	return pnstrdup(query, pg_encoding_mbcliplen(encoding, query, strlen(query),
												 SHOWN_STATEMENT_BYTES));
}

static char *
make_detail(const PlhProfileHeader *header, const PlhListedSite *largest, const PlhHeldBytes *held)
{
	const char *names = plh_death_text_names(header);
	const char *statement = shown_statement(largest, header->encoding);
	StringInfoData detail;

	initStringInfo(&detail);
	appendStringInfo(&detail, "It crashed at %s.", plh_words_time(header->death.at));
	if (names[0] != '\0')
		appendStringInfo(&detail, "  It worked for %s.", names);
	if (largest != NULL)
		append_site(&detail, largest, header->counters.live_bytes);
	append_counts(&detail, header, held);
	append_peaks(&detail, header, held);
	if (statement != NULL)
		appendStringInfo(&detail, "  Statement: %s", statement);
	return detail.data;
}

/* The hint: who may have sent the signal, and where there is more. */
static char *
make_hint(const PlhProfileHeader *header, const char *dump_path)
{
	const char *separator = dump_path != NULL ? strrchr(dump_path, '/') : NULL;
	StringInfoData hint;

	initStringInfo(&hint);
	if (plh_death_kind(&header->death) == PLH_DEATH_SIGNAL && header->death.number == SIGKILL)
		appendStringInfoString(&hint, "Signal 9 often comes from the kernel's OOM killer, when memory runs out: the kernel's log tells that.  ");
	appendStringInfo(&hint, "SELECT explanation FROM pg_leakhunt_explain(%d) says more until the server is restarted.",
					 header->pid);
	if (dump_path != NULL)
		appendStringInfo(&hint, "  SELECT * FROM pg_leakhunt_report('%s') shows the call sites.",
						 separator != NULL ? separator + 1 : dump_path);
	return hint.data;
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

static void
report_cause(void *arg)
{
	const Saving *saving = arg;
	const PlhProfileImage *image = saving->image;
	const PlhProfileHeader *header = image->header;
	PlhHeldBytes held = plh_profile_image_held_bytes(header);
	PlhSiteFacts facts;
	PlhListedSite site;
	PlhListedSite *largest = NULL;

	if (header->counters.live_bytes > 0 && find_largest(image, &facts))
	{
		PlhSymbols *symbols = plh_symbols_open_until(must_end_names);

		largest = &site;
		plh_listed_site_start(largest, image, &facts);
		plh_listed_site_describe_stack(largest, plh_stack_text_open(symbols, image));
	}
	ereport(LOG, (errmsg("process %d (%s) crashed, %s; it held %s",
						 header->pid, plh_profile_image_backend_type(image),
						 plh_death_text(&header->death),
						 plh_words_estimate(held.bytes, held.error_bytes)),
				  errdetail_internal("%s", make_detail(header, largest, &held)),
				  errhint("%s", make_hint(header, saving->result.failure == 0 ?
										  saving->result.path : NULL))));
}

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
save_profiles(List *profiles, bool with_names)
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
		if (state.asked_to_stop())
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

static bool
has_just_failed(void)
{
	return state.failed_at_us != 0 && plh_clock_us(CLOCK_MONOTONIC) - state.failed_at_us < PAUSE_US;
}

static void
save(void *arg)
{
	bool		is_keeper = *(const bool *) arg;
	const char *directory = plh_profile_directory_path();
	List	   *profiles = plh_crashed_profiles_list(directory);

	profiles = plh_crashed_profiles_bound(directory, profiles);
	plh_crashed_profiles_remove_unpublished(directory);
	plh_crashed_profiles_remove_baselines(directory, profiles);
	if (is_keeper || profiles != NIL)
		plh_dump_retention_remove_abandoned();
	if (profiles == NIL || has_just_failed())
		return;
	save_profiles(profiles, is_keeper);

	/* those that have become dumps are in nobody's need now */
	(void) plh_crashed_profiles_bound(directory, plh_crashed_profiles_list(directory));
}

/* Make the dumps.  Interrupts wait: what is half done would be done again. */
void
plh_crash_dumps_save(bool is_keeper, bool (*must_stop) (void))
{
	state.names_end_at_us = plh_clock_us(CLOCK_MONOTONIC) + plh_keeper_time(NAMES_US);
	state.asked_to_stop = must_stop;
	HOLD_INTERRUPTS();
	(void) plh_errors_catch(save, &is_keeper,
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
