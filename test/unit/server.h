/*
 * server.h
 *	  What the tested files need of the server.
 */
#ifndef SERVER_H
#define SERVER_H

#include "datatype/timestamp.h"

#include "reader/server_activity.h"
#include "reader/server_locks.h"
#include "report/malloc_callers.h"

extern TimestampTz statement_start; /* of the current statement */

extern PlhLoadedCode loaded_code;	/* by each process */
extern const char *server_release;	/* as in server_version_num; NULL: not
									 * known */
extern const char *server_state;	/* what each session does; NULL: not known */
extern PlhServerActivity server_activity;
extern PlhServerLocks server_locks; /* the rest that is known of each */

extern void reset_context(MemoryContext context);

#endif							/* SERVER_H */
