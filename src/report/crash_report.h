/*
 * crash_report.h
 *	  What the log and the dumps say of processes that crashed, with the names of
 *	  functions.
 *
 * Names that are not found before "must_stop" says so are left out.  Never called
 * inside palloc.
 */
#ifndef PLH_CRASH_REPORT_H
#define PLH_CRASH_REPORT_H

#include "dump/dump_writer.h"

/* One line in the log about a process that the crash began with. */
extern void plh_crash_report_cause(const PlhProfileImage *image,
								   bool (*must_stop) (void));

/* Sets both symbol texts of "extras", palloc'd in the current memory context. */
extern void plh_crash_report_add_symbols(const PlhProfileImage *image,
										 PlhDumpExtras *extras,
										 bool (*must_stop) (void));

#endif							/* PLH_CRASH_REPORT_H */
