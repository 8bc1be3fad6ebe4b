/*
 * profile_directory.c
 *	  Chooses the directory in which the processes of this server publish their
 *	  profiles.
 *
 * /dev/shm, where it lies by default, is open to everybody: the directory is
 * used only if it belongs to the server's user and nobody else may enter it.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/settings.h"
#include "process/profile_directory.h"

static char profile_directory[MAXPGPATH];

/*
 * Name the directory after the device and inode of the data directory, not
 * after its path: containers that share /dev/shm often have the same path.
 */
static void
choose(void)
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
 * Choose the directory, create it unless it exists, and make sure that it is
 * ours alone.  Returns NULL, or a sentence about the first of these that
 * failed.
 */
const char *
plh_profile_directory_claim(void)
{
	struct stat status;

	choose();
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

/*
 * The path of the directory.
 */
const char *
plh_profile_directory_path(void)
{
	Assert(profile_directory[0] != '\0');
	return profile_directory;
}

/*
 * Remove the directory if it is empty, unless a setting names it: then it is
 * the administrator's.
 */
void
plh_profile_directory_remove(void)
{
	if (plh_fixed.profile_directory[0] == '\0')
		(void) rmdir(profile_directory);
}
