/*
 * directory_note.h
 *	  A file in the directory of the profiles that says whose directory it is.
 *
 * It is for people who find the directory when the server is gone, and for
 * bin/pg_leakhunt_remove.  Nothing depends on it: where it can't be written, it
 * is missing.
 *
 * Callable inside palloc.
 */
#ifndef PLH_DIRECTORY_NOTE_H
#define PLH_DIRECTORY_NOTE_H

extern void plh_directory_note_write(const char *directory);

/* Leaves it beside other files, as they need it. */
extern void plh_directory_note_remove(const char *directory);

#endif							/* PLH_DIRECTORY_NOTE_H */
