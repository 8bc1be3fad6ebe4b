/*
 * shared_directory.h
 *	  The directory in which the processes of a server meet: it has profiles, baselines and
 *	  requests.
 *
 * /dev/shm, where it lies by default, is open to everybody: the directory is used only if it
 * belongs to the server's user and nobody else may enter it.
 *
 * Callable inside palloc.
 */
#pragma once

/* Why a directory can't be used. */
typedef enum PlhDirectoryFault
{
	PLH_DIRECTORY_FINE,
	PLH_DIRECTORY_NOT_MADE,
	PLH_DIRECTORY_NO_DIRECTORY, /* something else has the name */
	PLH_DIRECTORY_FOREIGN,		/* it belongs to another user */
	PLH_DIRECTORY_OPEN			/* others may enter it */
} PlhDirectoryFault;

extern PlhDirectoryFault plh_shared_directory_make(const char *path);
extern PlhDirectoryFault plh_shared_directory_check(const char *path);

/*
 * A note says whose the directory is, for people who find it when the server is gone, and for
 * bin/pg_leakhunt_remove.  Nothing depends on it.  It is only removed where there are no other
 * files, as they need it.
 */
extern void plh_shared_directory_note(const char *directory);
extern void plh_shared_directory_remove_note(const char *directory);
