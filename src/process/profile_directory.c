/*
 * profile_directory.c
 *	  Chooses the directory in which the processes of this server publish their profiles, and
 *	  says why one could not be published there.
 */
#include "postgres.h"

#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/directory_names.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/proof_name.h"
#include "profile/shared_directory.h"
#include "sampler/publication.h"

/* Names that are tried for the default directory. */
#define MAX_NAMES 8

static PLH_SET_AT_LOAD PLH_LARGE char profile_directory[MAXPGPATH];

/*
 * Name the directory after the device and inode of the data directory, not after its path:
 * containers that share /dev/shm often have the same path.
 */
static void
name_default(int number)
{
	struct stat status = {0};
	uint64		identity[2];
	int			length;

	(void) stat(DataDir, &status);
	identity[0] = status.st_dev;
	identity[1] = status.st_ino;
	length = snprintf(profile_directory, sizeof(profile_directory),
					  "/dev/shm/pg_leakhunt.%u.%016llx", (unsigned) geteuid(),
					  (unsigned long long)
					  hash_bytes_extended((const unsigned char *) identity, sizeof(identity), 0));
	if (number > 1)
		snprintf(profile_directory + length, sizeof(profile_directory) - length, ".%d", number);
}

/* Returns a sentence about a directory that can't be used. */
static const char *
describe_fault(PlhDirectoryFault fault)
{
	switch (fault)
	{
		case PLH_DIRECTORY_NOT_MADE:
			return psprintf("Could not create directory \"%s\": %m.", profile_directory);
		case PLH_DIRECTORY_NO_DIRECTORY:
			return psprintf("\"%s\" is not a directory.", profile_directory);
		case PLH_DIRECTORY_FOREIGN:
			return psprintf("Directory \"%s\" belongs to another user.", profile_directory);
		case PLH_DIRECTORY_OPEN:
			return psprintf("Directory \"%s\" is open to other users; its permissions must be u=rwx (0700).",
							profile_directory);
		case PLH_DIRECTORY_FINE:
			break;
	}
	return NULL;
}

/*
 * Claim the default directory.  Any user may have taken its name, which is easy to guess: then
 * another name will do.  All processes of a server come to the same one, as they prefer one that is
 * there already.
 */
static const char *
claim_default(void)
{
	const char *problem = NULL;

	for (int number = 1; number <= MAX_NAMES; number++)
	{
		name_default(number);
		if (plh_shared_directory_check(profile_directory) == PLH_DIRECTORY_FINE)
			return NULL;
	}
	for (int number = 1; number <= MAX_NAMES; number++)
	{
		PlhDirectoryFault fault;

		name_default(number);
		fault = plh_shared_directory_make(profile_directory);
		if (fault == PLH_DIRECTORY_FINE)
			return NULL;
		if (number == 1)
			problem = describe_fault(fault);
	}
	return problem;
}

/*
 * Choose the directory, create it unless it exists, and make sure that it is ours alone.  Returns
 * NULL, or a sentence about the problem.
 */
const char *
plh_profile_directory_claim(void)
{
	if (plh_load_settings.profile_directory[0] == '\0')
		return claim_default();
	strlcpy(profile_directory, plh_load_settings.profile_directory, sizeof(profile_directory));
	return describe_fault(plh_shared_directory_make(profile_directory));
}

bool
plh_profile_directory_is_gone(void)
{
	return plh_shared_directory_check(profile_directory) ==
		PLH_DIRECTORY_NOT_MADE && errno == ENOENT;
}

PLH_EVERY_PROCESS const char *
plh_profile_directory_path(void)
{
	Assert(profile_directory[0] != '\0');
	return profile_directory;
}

void
plh_profile_directory_note_server(void)
{
	plh_shared_directory_note(profile_directory);
}

/* PlhNameVisitor: is there a profile, which a crash has left? */
static void
find_profile(const char *name, void *arg)
{
	bool	   *has_profile = arg;

	*has_profile |= isdigit((unsigned char) name[0]) != 0;
}

/* PlhNameVisitor: remove a baseline or a proof of a process that is gone. */
static void
remove_late_baseline(const char *name, void *arg)
{
	int			pid = Max(plh_baseline_pid(name), plh_proof_name_pid(name));

	if (pid <= 0 || plh_process_facts_start_ticks(pid) != 0)
		return;
	plh_baseline_unlink(profile_directory, pid);
	plh_proof_name_unlink(profile_directory, pid);
}

/*
 * Remove baselines of processes that are gone: one that is taken while its process exits may come
 * after the process has removed it.  Where there are profiles of processes that crashed, baselines
 * may belong to these.
 */
static void
remove_late_baselines(void)
{
	bool		has_profile = false;

	if (plh_directory_names_visit(profile_directory, find_profile, &has_profile) == 0 &&
		!has_profile)
		(void) plh_directory_names_visit(profile_directory, remove_late_baseline, NULL);
}

void
plh_profile_directory_remove(void)
{
	remove_late_baselines();
	plh_shared_directory_remove_note(profile_directory);
	if (plh_load_settings.profile_directory[0] == '\0')
		(void) rmdir(profile_directory);
}

/*
 * The errno of the failure that was logged last; 0: none, or all is well again.  Only the keeper
 * has one.
 */
static PLH_SURVIVES_FORK int reported_error;

static const char *
reason_of(int error)
{
	if (error == ENOSPC)
		return psprintf("The file system of \"%s\" is too full for its profile.",
						profile_directory);
	errno = error;
	return psprintf("Its profile could not be published in \"%s\": %m.",
					profile_directory);
}

static const char *
hint_of(int error)
{
	if (error == ENOSPC)
		return "Make /dev/shm larger (shm_size of a container), set pg_leakhunt.profile_directory to a larger file system, or lower pg_leakhunt.max_profile_size.";
	return "The process tries again when it allocates, at most every five seconds.";
}

const char *
plh_profile_directory_failure(int pid, const char **hint)
{
	int			error = plh_publication_failure_of(pid);

	if (error == 0)
		return NULL;
	*hint = hint_of(error);
	return reason_of(error);
}

void
plh_profile_directory_report_failure(void)
{
	int			pid;
	int			error = plh_publication_any_failure(&pid);

	if (error != 0 && error != reported_error)
		ereport(LOG, (errmsg("could not publish the profile of process %d", pid),
					  errdetail_internal("%s", reason_of(error)),
					  errhint("%s", hint_of(error))));
	reported_error = error;
}
