/*
 * statement_advice.h
 *	  What to do about a statement or transaction that holds much.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/advised.h"

extern void plh_statement_advice_say(const PlhAdvised *advised);
