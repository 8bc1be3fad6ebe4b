/*
 * dump_report.h
 *	  Reports failures of plh_dump_write.
 *
 * Never called inside palloc.  Callable at exit, with a level below ERROR.
 */
#ifndef PLH_DUMP_REPORT_H
#define PLH_DUMP_REPORT_H

#include "dump/dump.h"

/* Reports nothing if the result has no failure. */
extern void plh_dump_report(const PlhDumpResult *result, int level);

#endif							/* PLH_DUMP_REPORT_H */
