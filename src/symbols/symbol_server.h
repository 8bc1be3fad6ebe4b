/*
 * symbol_server.h
 *	  The process that reads binaries and debug files: all that it does.
 *
 * Runs in a child of the session that symbolizer.c has forked.  Calls nothing
 * of PostgreSQL's, and leaves by _exit or a signal.
 */
#ifndef PLH_SYMBOL_SERVER_H
#define PLH_SYMBOL_SERVER_H

/* Never returns. */
extern void plh_symbol_server_run(int question_fd, int answer_fd,
								  pid_t session);

#endif							/* PLH_SYMBOL_SERVER_H */
