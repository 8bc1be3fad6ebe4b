/*
 * crash_dumps.h
 *	  Makes dumps of what a crash has left, and logs what the process held that it began with.
 *
 * Whoever has the lock does it: the keeper for as long as it runs, or else a session that looks at
 * profiles.  Never called inside palloc.
 */
#pragma once

/* Returns a descriptor, to be closed, or -1 if somebody else has the lock. */
extern int	plh_crash_dumps_lock(void);

/*
 * Is there another directory now in the place of the one that is locked?  Then others may have the
 * lock, too.
 */
extern bool plh_crash_dumps_is_lock_lost(int lock);

/*
 * These are to be called with the lock, and never throw: an ERROR becomes a WARNING.  "must_stop"
 * is asked before each dump or text.
 */
extern void plh_crash_dumps_save(bool is_keeper, bool (*must_stop) (void));

/* Write the texts that dumps lack, and remove dumps that are too much. */
extern void plh_crash_dumps_tend(bool (*must_stop) (void));

/* Both, for sessions: takes the lock if it is free, and at most a second or so. */
extern void plh_crash_dumps_save_some(bool sees_all);
