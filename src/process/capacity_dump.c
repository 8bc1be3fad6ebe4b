/*
 * capacity_dump.c
 *	  Keeps the record of capacity over a restart of the server.
 *
 * What is read is trusted in nothing.  A file that makes no sense is set aside, and the server
 * begins anew.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/settings.h"
#include "process/capacity_dump.h"
#include "process/profile_directory.h"
#include "profile/dump_names.h"
#include "profile/shared_directory.h"
#include "reader/capacity_file.h"

/* Shared memory, which has it, is gone when the postmaster exits. */
static PLH_SET_AT_LOAD uint64 system_identifier;

void
plh_capacity_dump_start(uint64 cluster)
{
	system_identifier = cluster;
}

static void
path_in(char *path, const char *directory, const char *suffix)
{
	plh_capacity_file_path(path, directory, system_identifier, suffix);
}

/* Others may have put another directory in its place. */
static bool
has_own_directory(void)
{
	return plh_shared_directory_check(plh_profile_directory_path()) == PLH_DIRECTORY_FINE;
}

/* Returns whether there is a file that can be used. */
static bool
load_from(const char *directory, PlhCapacityRecord *record)
{
	char		path[PLH_PATH_MAX];
	char		aside[PLH_PATH_MAX];
	const char *problem;

	path_in(path, directory, "");
	if (!plh_capacity_file_read(path, system_identifier, record, &problem))
		return false;
	if (problem == NULL)
		return true;
	path_in(aside, directory, PLH_CAPACITY_DAMAGED);
	ereport(LOG, (errmsg("pg_leakhunt ignores file \"%s\" of capacity", path),
				  errdetail_internal("%s", problem),
				  rename(path, aside) != 0 ? 0 : errhint("It is kept as \"%s\".", aside)));
	return false;
}

void
plh_capacity_dump_load(PlhCapacityRecord *record)
{
	if (!has_own_directory() || !load_from(plh_profile_directory_path(), record))
		(void) load_from(plh_load_settings.dump_directory, record);
}

/* Write what the keeper has left to the directory of the dumps.  Returns an errno or 0. */
static int
save(const char *live)
{
	PlhSummedFile file;
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	int			failure;

	if (!plh_summed_file_read(live, PLH_CAPACITY_MAGIC, PLH_CAPACITY_BYTES(0),
							  PLH_CAPACITY_BYTES(PLH_CAPACITY_KINDS), &file) ||
		file.problem != NULL)
		return 0;
	failure = plh_dump_names_make_directory();
	path_in(path, plh_load_settings.dump_directory, "");
	path_in(temporary, plh_load_settings.dump_directory, PLH_CAPACITY_NEW);
	if (failure == 0)
		failure = plh_summed_file_write(path, temporary, PLH_CAPACITY_MAGIC, file.contents,
										file.bytes, true);
	pfree(file.contents);
	return failure;
}

void
plh_capacity_dump_forget(void)
{
	char		path[PLH_PATH_MAX];

	path_in(path, plh_load_settings.dump_directory, "");
	(void) unlink(path);
}

/* Is all to be forgotten?  The keeper may have had no time for it. */
static bool
is_reset(void)
{
	char		path[PLH_PATH_MAX];

	path_in(path, plh_profile_directory_path(), PLH_CAPACITY_RESET);
	if (unlink(path) != 0)
		return false;
	plh_capacity_dump_forget();
	return true;
}

/*
 * Remove the record that was saved, unless it is another one by now: the next server may have
 * started already, as postmaster.pid is gone, and its keeper may have published its own.
 */
static void
remove_saved(const char *live, const struct stat *saved)
{
	struct stat present;

	if (stat(live, &present) == 0 && present.st_ino == saved->st_ino)
		(void) unlink(live);
}

void
plh_capacity_dump_save(void)
{
	char		live[PLH_PATH_MAX];
	struct stat saved = {0};
	int			failure;

	if (!has_own_directory())
		return;
	path_in(live, plh_profile_directory_path(), "");
	(void) stat(live, &saved);
	failure = is_reset() ? 0 : save(live);
	if (failure == 0)
		remove_saved(live, &saved);
	else
	{
		errno = failure;
		ereport(LOG, (errcode_for_file_access(),
					  errmsg("could not write what sessions have grown to into \"%s\": %m",
							 plh_load_settings.dump_directory),
					  errdetail("It stays in the directory of the profiles.")));
	}
}
