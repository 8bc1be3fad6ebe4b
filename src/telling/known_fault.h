/*
 * known_fault.h
 *	  Faults of PostgreSQL's minor releases that take memory.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/phase.h"

/* Says that the server's release is known for what it holds in that phase, if it is. */
extern void plh_known_fault_say(PlhSaid *said, PlhPhase phase);
