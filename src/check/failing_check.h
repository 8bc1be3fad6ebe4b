/*
 * failing_check.h
 *	  A leak check that lets each allocation of a statement fail, one at a time.
 */
#ifndef PLH_FAILING_CHECK_H
#define PLH_FAILING_CHECK_H

#include "check/check_run.h"

extern void plh_failing_check_run(const PlhCheckRun *run);

#endif							/* PLH_FAILING_CHECK_H */
