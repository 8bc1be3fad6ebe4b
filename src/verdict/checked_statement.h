/*
 * checked_statement.h
 *	  Runs the statement of a leak check, which may be several, by SPI.
 */
#ifndef PLH_CHECKED_STATEMENT_H
#define PLH_CHECKED_STATEMENT_H

#include "nodes/pg_list.h"

extern List *plh_checked_statement_split(const char *text);
extern void plh_checked_statement_execute(const List *statements,
										  bool roll_back, bool aloud);

#endif							/* PLH_CHECKED_STATEMENT_H */
