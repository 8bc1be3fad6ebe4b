/*
 * leak_check.h
 *	  Runs a statement again and again and tells what stays behind each time.
 *
 * Called by a session about itself, never inside palloc.  Throws what the statement throws, unless
 * its errors are what is checked.
 */
#pragma once

#include "check/checked_statement.h"

extern void plh_leak_check_run(const PlhLeakCheckPlan *plan, PlhLeakCheck *check);
