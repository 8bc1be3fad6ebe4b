/*
 * statement_runs.h
 *	  The statements of the processes of a scenario: the file of what they took at most,
 *	  which is written by the real code, and kept in memory.
 */
#ifndef STATEMENT_RUNS_H
#define STATEMENT_RUNS_H

/* A process begins. */
extern void statement_runs_start(void);

/* It begins a statement. */
extern void statement_runs_next(void);

/* It ends. */
extern void statement_runs_end(void);

#endif							/* STATEMENT_RUNS_H */
