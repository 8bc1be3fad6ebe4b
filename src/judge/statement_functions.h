/*
 * statement_functions.h
 *	  What one function holds of a statement, at all of its call sites and depths.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/site_suspects.h"

/* Add up what functions hold, as far as they are known: one of them may be the largest "site". */
extern void plh_statement_functions_add_up(PlhJudge *judge);
