/*
 * statement.h
 *	  The statement that this process is running, as its profile knows it.
 *
 * These functions may be called inside palloc, except in a critical section;
 * they never palloc or throw.
 */
#ifndef PLH_STATEMENT_H
#define PLH_STATEMENT_H

extern uint32 plh_statement_current(void);
extern void plh_statement_forget(void);

#endif							/* PLH_STATEMENT_H */
