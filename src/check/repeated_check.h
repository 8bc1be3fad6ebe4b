/*
 * repeated_check.h
 *	  A leak check that repeats what a statement does.
 */
#pragma once

#include "check/check_run.h"

extern void plh_repeated_check_run(const PlhCheckRun *run);
