/*
 * passing_questions.h
 *	  Asks for symbols without waiting: what is not answered in time is there the next time that
 *	  somebody asks.
 *
 * The symbolizer goes on between two statements of the session, until it has answered, and no
 * longer.  Answers are for the session's cache.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_layout.h"
#include "symbols/symbol_protocol.h"

/* False: no answer by that time (CLOCK_MONOTONIC, us); else it is in the cache, if it may be. */
extern bool plh_passing_questions_ask(const PlhModuleRecord *module, uint64 address, int64 until_us,
									  PlhSymbolAnswer *answer);

/* To be called after the last question of a statement. */
extern void plh_passing_questions_end(void);
