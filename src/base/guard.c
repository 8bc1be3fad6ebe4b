/*
 * guard.c
 *	  The guard of all that the code inside palloc keeps of a process.
 *
 * The variable lies here, below everything that asserts that it is set.
 */
#include "postgres.h"

#include "base/guard.h"

volatile bool plh_guard_held;
