/*
 * exit_dump.h
 *	  The dump of a process that exits, if it is worth one, and what the log says of it.
 *
 * Called once, by the exit of a process that has a profile.  Never throws.
 */
#ifndef PLH_EXIT_DUMP_H
#define PLH_EXIT_DUMP_H

extern void plh_exit_dump_write(void);

#endif							/* PLH_EXIT_DUMP_H */
