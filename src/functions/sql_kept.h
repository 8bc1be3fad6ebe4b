/*
 * sql_kept.h
 *	  What statements have left in sessions that live.
 */
#pragma once

#include "reader/statement_list.h"

/* Add up what is there now, of the sessions that the caller may see, to each listed statement. */
extern void plh_sql_kept_add_up(PlhStatementList *list);
