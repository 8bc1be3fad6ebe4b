/*
 * dump_report.h
 *	  Says what plh_dump_write could not do.
 *
 * Never called inside palloc; callable at exit with a level below ERROR.
 */
#ifndef PLH_DUMP_REPORT_H
#define PLH_DUMP_REPORT_H

#include "dump/dump.h"

extern void plh_dump_report(const PlhDumpResult *result, int level);

#endif							/* PLH_DUMP_REPORT_H */
