/*
 * unshown_profile.c
 *	  What is said of a process whose profile could not be shown to others.
 */
#include "postgres.h"

#include <errno.h>

#include "base/fork.h"
#include "process/profile_directory.h"
#include "process/unshown_profile.h"
#include "sampler/publication.h"

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
						plh_profile_directory_path());
	errno = error;
	return psprintf("Its profile could not be published in \"%s\": %m.",
					plh_profile_directory_path());
}

static const char *
hint_of(int error)
{
	if (error == ENOSPC)
		return "Make /dev/shm larger (shm_size of a container), set pg_leakhunt.profile_directory to a larger file system, or lower pg_leakhunt.max_profile_size.";
	return "The process tries again when it allocates, at most every five seconds.";
}

const char *
plh_unshown_profile_reason(int pid)
{
	int			error = plh_publication_failure_of(pid);

	return error == 0 ? NULL : reason_of(error);
}

const char *
plh_unshown_profile_hint(int pid)
{
	int			error = plh_publication_failure_of(pid);

	return error == 0 ? NULL : hint_of(error);
}

void
plh_unshown_profile_report(void)
{
	int			pid;
	int			error = plh_publication_any_failure(&pid);

	if (error != 0 && error != reported_error)
		ereport(LOG, (errmsg("could not publish the profile of process %d", pid),
					  errdetail_internal("%s", reason_of(error)),
					  errhint("%s", hint_of(error))));
	reported_error = error;
}
