/*
 * planning_advice.h
 *	  What to do about a statement whose planning takes much memory.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/advised.h"

/* By what is planned, and by settings of its session that make that more. */
extern void plh_planning_advice_say(const PlhAdvised *advised);
