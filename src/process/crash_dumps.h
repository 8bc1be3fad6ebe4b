/*
 * crash_dumps.h
 *	  Makes dumps of the profiles of processes that did not exit cleanly.
 *
 * Whoever has the lock does it: the keeper for as long as it runs, or else a
 * session that looks at profiles.  Never called inside palloc.
 */
#ifndef PLH_CRASH_DUMPS_H
#define PLH_CRASH_DUMPS_H

/* Returns a descriptor, to be closed, or -1 if somebody else has the lock. */
extern int	plh_crash_dumps_lock(void);

/*
 * To be called with the lock.  Never throws: an ERROR becomes a WARNING.
 * "must_stop" is asked before each dump.
 */
extern void plh_crash_dumps_save(bool is_keeper, bool (*must_stop) (void));

/* For sessions: takes the lock if it is free, and at most a second or so. */
extern void plh_crash_dumps_save_some(void);

#endif							/* PLH_CRASH_DUMPS_H */
