/*
 * failing_check.h
 *	  A leak check that lets each allocation of a statement fail, one at a time.
 */
#pragma once

#include "check/checked_statement.h"

extern void plh_failing_check_run(const PlhCheckRun *run);
