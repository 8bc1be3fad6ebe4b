/*
 * doubt.h
 *	  Why there is no finding on a process: all is well, it is too early, or a part of its
 *	  memory can't be seen.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* Find the first reason that applies. */
extern void plh_doubt_find(PlhDoubt *doubt, const PlhDoubted *doubted);
