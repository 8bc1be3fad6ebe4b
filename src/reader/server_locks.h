/*
 * server_locks.h
 *	  The locks that a process holds, as pg_locks shows them.
 *
 * All locks of the server are copied for that: so this is for processes that have very many.
 * Whoever asks decides who may see it.  Never called inside palloc.
 */
#pragma once

typedef struct PlhServerLocks
{
	int64		count;			/* different objects that are locked */
	int64		relations;		/* of these */
	int64		advisory;
} PlhServerLocks;

extern PlhServerLocks plh_server_locks_of(int pid);
