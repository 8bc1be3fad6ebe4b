/*
 * server_processes.h
 *	  The processes of this server, as the kernel knows them.
 *
 * The kernel also knows processes that PostgreSQL has no record of, such as the
 * logger, and tells which of them have loaded a library.  Never called inside
 * palloc.
 */
#ifndef PLH_SERVER_PROCESSES_H
#define PLH_SERVER_PROCESSES_H

#include "nodes/pg_list.h"

extern bool plh_server_processes_has(int pid);
extern bool plh_server_processes_check(int pid);

/* Has a process loaded pg_leakhunt? */
typedef enum PlhLoaded
{
	PLH_NOT_LOADED,
	PLH_LOADED,
	PLH_LOADED_UNKNOWN			/* it is gone, or must not be looked at */
} PlhLoaded;

extern PlhLoaded plh_server_processes_loaded(int pid);
extern int64 plh_server_processes_rss_anon(int pid);
extern List *plh_server_processes_list(void);

#endif							/* PLH_SERVER_PROCESSES_H */
