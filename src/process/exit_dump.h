/*
 * exit_dump.h
 *	  The dump of a process that exits, if it is worth one, and what the log says of it.
 *
 * Called once, by the exit of a process that has a profile.  Never throws.
 */
#pragma once

extern void plh_exit_dump_write(void);
