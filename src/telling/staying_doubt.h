/*
 * staying_doubt.h
 *	  What stays in a session without being a finding, and whether it grows.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* The process has a profile. */
extern void plh_staying_doubt_find(PlhDoubt *doubt, const PlhDoubted *doubted);
