/*
 * symbol_server.h
 *	  The symbolizer's side: a process that reads binaries and debug files.
 *
 * Called in the child that symbolizer.c forks from a session.  The child calls nothing of
 * PostgreSQL's, and ends by _exit or a signal.
 */
#pragma once

/* Answers until the questions end or the session is gone.  Never returns. */
extern void plh_symbol_server_run(int question_fd, int answer_fd, pid_t session,
								  const char *debuginfod_urls);
