/*
 * crash_dumps.h
 *	  Makes dumps of the profiles of processes that did not exit cleanly.
 *
 * Whoever has the lock does it: the keeper for as long as it runs, or else a
 * session that looks at profiles.  Never called inside palloc.
 */
#ifndef PLH_CRASH_DUMPS_H
#define PLH_CRASH_DUMPS_H

#include "dump/dump_writer.h"

/*
 * What is made by others of the profiles that become dumps.  Each may throw, and
 * stops to look up names of functions when "must_stop" says so.
 */
typedef struct PlhCrashTexts
{
	/* sets the symbol texts of "extras", in the current memory context */
	void		(*add_symbols) (const PlhProfileImage *image,
								PlhDumpExtras *extras,
								bool (*must_stop) (void));

	/* says in the log what a process held that the crash began with */
	void		(*report_cause) (const PlhProfileImage *image,
								 bool (*must_stop) (void));
} PlhCrashTexts;

/* Called once, when the module is loaded; they must last. */
extern void plh_crash_dumps_start(const PlhCrashTexts *texts);

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
