/*
 * limit_report.h
 *	  Says in the server's log that a process is beyond a limit, what holds its memory, and what
 *	  comes of it.
 */
#pragma once

#include "sampler/process_limit.h"

/* PlhLimitReporter */
extern void plh_limit_report(const PlhLimitExcess *excess);
