/*
 * server_processes.h
 *	  Lists the processes of this server, and what the kernel knows of them.
 *
 * The kernel also knows processes of which PostgreSQL has no record, such as the logger, and tells
 * which of them have loaded pg_leakhunt.  Any process may be gone by the time that a function
 * returns.  Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

extern bool plh_server_processes_has(int pid);

/* Returns false after a WARNING; never throws. */
extern bool plh_server_processes_check(int pid);

typedef enum PlhLoaded
{
	PLH_NOT_LOADED,
	PLH_LOADED,
	PLH_LOADED_UNKNOWN			/* it is gone, or we may not read its maps */
} PlhLoaded;

extern PlhLoaded plh_server_processes_loaded(int pid);
extern bool plh_server_processes_is_titled(int pid, const char *end);

/*
 * Paths of the files of code that a process has mapped, each once, in the order of their addresses,
 * as String nodes; NIL if its maps can't be read.  Removed files are left out.  List and nodes
 * belong to the current memory context.
 */
extern List *plh_server_processes_binaries(int pid);

/* What the kernel tells of a process' memory; zeros if it is gone. */
typedef struct PlhProcessMemory
{
	int64		private_bytes;
	int64		shared_bytes;	/* that it has touched, such as buffers: RES
								 * of top has it */
	int64		page_table_bytes;
	int64		swapped_bytes;
} PlhProcessMemory;

extern void plh_server_processes_memory(int pid, PlhProcessMemory *memory);

/*
 * The same of private memory, where a page that several processes have since a fork counts for each
 * as its part; -1: not known.  It goes through all its pages.
 */
extern int64 plh_server_processes_share(int pid);

/* What so much memory has in page tables: an entry of 8 bytes for each page of 4 kB. */
static inline int64
plh_server_processes_entries(int64 bytes)
{
	return bytes / 4096 * 8;
}

/* The lists belong to the current memory context; the second may lack one. */
extern List *plh_server_processes_list(void);
extern List *plh_server_processes_children(void);
