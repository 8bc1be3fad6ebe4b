/*
 * shared_directory.c
 *	  The directory in which the processes of a server meet: it has profiles,
 *	  baselines and requests.
 *
 * This code runs inside palloc, as a directory that vanishes while the server
 * runs is made again by whoever misses it first.
 */
#include "postgres.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/directory_note.h"
#include "profile/shared_directory.h"

/*
 * Is there such a directory, ours alone?  If not, errno is set.
 */
PlhDirectoryFault
plh_shared_directory_check(const char *path)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return PLH_DIRECTORY_NOT_MADE;
	errno = EACCES;
	if (!S_ISDIR(status.st_mode))
		return PLH_DIRECTORY_NO_DIRECTORY;
	if (status.st_uid != geteuid())
		return PLH_DIRECTORY_FOREIGN;
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return PLH_DIRECTORY_OPEN;
	return PLH_DIRECTORY_FINE;
}

/*
 * Make the directory unless it exists, and make sure that it is ours alone.  If
 * it is not, errno is set.
 */
PlhDirectoryFault
plh_shared_directory_make(const char *path)
{
	PlhDirectoryFault fault = plh_shared_directory_check(path);

	if (fault != PLH_DIRECTORY_NOT_MADE || errno != ENOENT)
		return fault;
	if (mkdir(path, S_IRWXU) == 0)
		plh_directory_note_write(path);
	else if (errno != EEXIST)
		return PLH_DIRECTORY_NOT_MADE;
	return plh_shared_directory_check(path);
}
