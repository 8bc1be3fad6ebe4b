/*
 * doubt_held.h
 *	  What a statement, a transaction or open cursors hold, within what they may.
 *
 * Never called inside palloc.
 */
#pragma once

#include "telling/doubted.h"

/* Do cursors that are open hold much, but no more than they may? */
extern bool plh_doubt_held_find_cursors(PlhDoubt *doubt, const PlhDoubted *doubted);

/* Does a statement hold much, but no more than it may? */
extern bool plh_doubt_held_find_statement(PlhDoubt *doubt, const PlhDoubted *doubted);
