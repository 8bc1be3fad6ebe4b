/*
 * statements_file.h
 *	  The file of statements of this server: made, mapped, locked, grown, removed.
 *
 * These functions may be called inside palloc, except in a critical section; callers hold the
 * guard.  plh_statements_file_start is called when the module is loaded, and
 * plh_statements_file_unlink at the postmaster's exit.
 */
#pragma once

#include "profile/statements_layout.h"

/* The file, mapped; NULL without one.  Only entries that are reserved may be touched. */
extern PlhStatementsFile *plh_statements_file;

/*
 * Maps the file of that directory and cluster, or makes one; a server that starts makes a new one
 * in any case.  Without room for it, nothing is known of statements.
 */
extern void plh_statements_file_start(const char *directory, uint64 cluster,
									  uint32 max_entries, bool new_server);

/* The name of that file; "path" has PLH_PATH_MAX bytes. */
extern void plh_statements_file_path(char *path, const char *directory, uint64 cluster);

/* Takes the lock, held for microseconds; false if the process that has it does not go on. */
extern bool plh_statements_file_lock(void);
extern void plh_statements_file_unlock(void);

/* Makes room for more entries, under the lock.  Returns false if there is none. */
extern bool plh_statements_file_grow(void);

/* How many entries may be touched, whatever somebody has written to the file. */
extern uint32 plh_statements_file_reserved(void);

/* After a crash no process has the lock. */
extern void plh_statements_file_break_lock(void);

/* Removes the file, unless the next server has put its own in its place. */
extern void plh_statements_file_unlink(void);
