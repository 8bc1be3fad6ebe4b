/*
 * limit_report.h
 *	  Says in the server's log that a process is beyond a limit, what holds its memory,
 *	  and what comes of it.
 */
#ifndef PLH_LIMIT_REPORT_H
#define PLH_LIMIT_REPORT_H

#include "sampler/process_limit.h"

/* PlhLimitReporter */
extern void plh_limit_report(const PlhLimitExcess *excess);

#endif							/* PLH_LIMIT_REPORT_H */
