/*
 * backend.h
 *	  What readers need of the server: memory, errors, files and tables.
 *
 * Each palloc is a malloc of its own, of exactly the size that was asked for, so
 * that the address sanitizer sees what goes beyond.
 */
#ifndef BACKEND_H
#define BACKEND_H

/* Bytes that are palloc'd now, and the most since the last forget_memory. */
extern Size palloced_bytes;
extern Size palloced_peak;

extern void forget_memory(void);

/* Files that are open by OpenTransientFile. */
extern int	open_files;

extern int	database_encoding;

/* The names of each database and role; NULL: not known. */
extern const char *known_database;
extern const char *known_role;

/* Called with each line of the log; NULL: nobody reads it. */
extern void (*logged) (const char *message, const char *detail, const char *hint);

/* Function and argument of a call that may end in an ERROR. */
typedef void (*MayThrow) (void *arg);

extern int	sqlstate_of(MayThrow function, void *arg);

#endif							/* BACKEND_H */
