/*
 * shared_segments.h
 *	  The dynamic segments of shared memory that processes of this server have mapped, and whose
 *	  they are.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

typedef struct PlhSharedSegment
{
	ino_t		inode;
	int64		bytes;
	int			processes;		/* that have mapped it */
	int			owner_pid;		/* the session whose it is, with its parallel
								 * workers; 0: those of several */
} PlhSharedSegment;

typedef struct PlhSharedSegments
{
	int			count;
	PlhSharedSegment *segments; /* only those of this server */
	bool		are_all;		/* false: there were too many to look at */
} PlhSharedSegments;

/* What those processes have mapped of /dev/shm, in the current memory context. */
extern void plh_shared_segments_read(PlhSharedSegments *read, const List *pids);

/* /dev/shm; zeros where there is none. */
extern void plh_shared_segments_room(int64 *size, int64 *used);
