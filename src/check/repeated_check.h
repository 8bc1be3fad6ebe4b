/*
 * repeated_check.h
 *	  A leak check that repeats what a statement does.
 */
#ifndef PLH_REPEATED_CHECK_H
#define PLH_REPEATED_CHECK_H

#include "check/check_run.h"

extern void plh_repeated_check_run(const PlhCheckRun *run);

#endif							/* PLH_REPEATED_CHECK_H */
