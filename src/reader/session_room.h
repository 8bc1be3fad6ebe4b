/*
 * session_room.h
 *	  How much memory this host has for sessions of clients, whatever they have now.
 *
 * All else is taken as it is now, but for shared memory, which is taken as if all of it had been
 * touched.  Page cache is none of what is taken.  Never called inside palloc.
 */
#pragma once

typedef struct PlhSessionRoom
{
	int64		limit_bytes;	/* of the machine, or the lowest of a control
								 * group; 0: not known, and so is all else */
	int64		sessions_bytes; /* what sessions have now */
	int64		room_bytes;		/* they may have in all */
	int64		once_bytes;		/* what each counts that exists once for all
								 * processes, as it was forked */
	int			sessions;		/* now */
} PlhSessionRoom;

/* "directory" is that of the profiles. */
extern void plh_session_room_read(PlhSessionRoom *room, const char *directory);
