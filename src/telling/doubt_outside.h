/*
 * doubt_outside.h
 *	  What is outside of memory contexts, and is no finding: malloc, mapped, or free in malloc.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* Is much outside of memory contexts, though no finding tells of it? */
extern bool plh_doubt_outside_find(PlhDoubt *doubt, const PlhDoubted *doubted);
