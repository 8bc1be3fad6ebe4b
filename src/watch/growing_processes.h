/*
 * growing_processes.h
 *	  Which processes of this server have taken the memory that is missing.
 *
 * Only the keeper calls this.  Never called inside palloc.
 */
#pragma once

#include "reader/memory_room.h"

/* Whose growth it is.  Parts are percent of all growth. */
typedef struct PlhGrowth
{
	int			pid;			/* of the process that has grown most; 0: none */
	int			processes;		/* that have grown at least half as much */
	int			percent;		/* all of these */
	int			server_percent; /* all processes of this server */
	int			shared_percent; /* shared memory */
} PlhGrowth;

/* Note what each has now, if it is time to: what comes later is compared with that. */
extern void plh_growing_processes_note(const PlhMemoryRoom *rooms, int64 now_us);

/* Who has grown for the last half a minute or more, beside the room of that number. */
extern void plh_growing_processes_find(PlhGrowth *growth, const PlhMemoryRoom *rooms, int number);
