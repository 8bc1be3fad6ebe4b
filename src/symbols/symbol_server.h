/*
 * symbol_server.h
 *	  The process that reads binaries and debug files: all that it does.
 *
 * Runs in a child of the session that symbolizer.c has forked.  Calls nothing
 * of PostgreSQL's, and leaves by _exit or a signal.
 */
#ifndef PLH_SYMBOL_SERVER_H
#define PLH_SYMBOL_SERVER_H

#include "symbols/symbolizer.h"

/* What is asked: about an address of a binary. */
typedef struct PlhSymbolQuestion
{
	uint64		address;
	int64		seen_at;		/* seconds since 1970 */
	uint32		build_id_bytes;
	unsigned char build_id[PLH_BUILD_ID_MAX];
	char		path[MAXPGPATH];
} PlhSymbolQuestion;

/* Never returns. */
extern void plh_symbol_server_run(int question_fd, int answer_fd,
								  pid_t session);

/* For both sides. */
extern bool plh_symbol_transfer(int fd, void *data, Size bytes, bool writing);
extern bool plh_symbol_same_module(const PlhSymbolQuestion *left,
								   const PlhSymbolQuestion *right);

#endif							/* PLH_SYMBOL_SERVER_H */
