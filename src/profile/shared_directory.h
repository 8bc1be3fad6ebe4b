/*
 * shared_directory.h
 *	  Where the processes of a server meet, and how much of a file system their files may take.
 *
 * /dev/shm, where it lies by default, is open to everybody: the directory is used only if it
 * belongs to the server's user and nobody else may enter it.
 *
 * PostgreSQL's dynamic shared memory lies there, too, without which no parallel query runs and no
 * session starts; in a container that is 64 MB in all.  So room for others comes first: all files
 * of the directory together take a quarter of the file system at most, and leave 16 MB free.
 *
 * Callable inside palloc; plh_shared_directory_has_room is not, in a critical section.
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

/* A profile whose name ends like this is kept to be looked at only: there is a dump of it. */
#define PLH_SAVED_SUFFIX ".saved"

/* A file whose name begins like this only waits for somebody to remove it. */
#define PLH_DROPPED_PREFIX "dropped."

/* What room is wanted for. */
typedef enum PlhRoomUse
{
	PLH_ROOM_HEADER,			/* the figures of one process */
	PLH_ROOM_RECORDS			/* all else, which leaves a rest for headers */
} PlhRoomUse;

extern bool plh_shared_directory_has_room(const char *directory, Size bytes, PlhRoomUse use);
