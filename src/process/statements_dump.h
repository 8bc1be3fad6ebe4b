/*
 * statements_dump.h
 *	  Keeps the file of statements over a restart of the server.
 *
 * A server that stops writes it to the directory of the dumps.  One that starts takes over what a
 * crash has left beside the profiles, or else what was written.
 *
 * Both are called by the postmaster, the latter at its exit: it throws nothing.
 */
#pragma once

/* Begins with the file of that directory and cluster. */
extern void plh_statements_dump_start(const char *directory, uint64 cluster, bool new_server);

/* Writes what there is, and removes the file beside the profiles. */
extern void plh_statements_dump_save(void);
