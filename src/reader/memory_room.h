/*
 * memory_room.h
 *	  How much more memory each limit of this server's processes leaves, before the kernel has to
 *	  kill one of them.
 *
 * What the kernel can take back counts as room: cached files, also those in use, and swap.  The
 * keeper asks once a second, so that each file is read once.  Nothing is palloc'd.
 */
#pragma once

/* The machine, and the control groups around a process that have limits: the innermost ones. */
#define PLH_MEMORY_ROOMS 4

typedef struct PlhMemoryRoom
{
	bool		of_group;		/* not of the machine */
	int64		limit_bytes;	/* without swap */
	int64		room_bytes;
	int64		private_bytes;	/* in use, as far as the kernel tells */
	int64		shared_bytes;
	double		waiting_percent;	/* of the last ten seconds, processes
									 * waited for memory; -1: not known */
} PlhMemoryRoom;

/* Those of a process, the machine first.  Returns their number; 0 if the kernel tells nothing. */
extern int	plh_memory_room_read(int pid, PlhMemoryRoom *rooms);
