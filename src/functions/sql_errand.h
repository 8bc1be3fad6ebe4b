/*
 * sql_errand.h
 *	  Waits until another process has done what it was asked to.
 */
#pragma once

#include "sampler/errands.h"

/* Returns false where that takes longer than so much; else *result is what came of it. */
extern bool plh_sql_errand_wait(PlhErrand errand, int pid, uint32 request, int64 most_us,
								int64 *result);
