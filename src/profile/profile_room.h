/*
 * profile_room.h
 *	  How much of a file system the profiles of a server may take.
 *
 * By default profiles lie in /dev/shm, as PostgreSQL's dynamic shared memory does, without which no
 * parallel query runs and no session starts; in a container that is 64 MB in all.  So room for
 * others comes first: all files of the profile directory together take a quarter of the file system
 * at most, and leave 16 MB free.
 *
 * Callable inside palloc, except in a critical section.
 */
#pragma once

/*
 * A dead process' profile whose name ends like this is only there to be looked at: what is worth
 * keeping of it is in a dump.
 */
#define PLH_SAVED_SUFFIX ".saved"

/* A file whose name begins like this only waits for somebody to remove it. */
#define PLH_DROPPED_PREFIX "dropped."

/* What room is wanted for. */
typedef enum PlhRoomUse
{
	PLH_ROOM_HEADER,			/* the figures of one process */
	PLH_ROOM_RECORDS			/* all else, which leaves a rest for headers */
} PlhRoomUse;

extern bool plh_profile_room_has(const char *directory, Size bytes, PlhRoomUse use);
