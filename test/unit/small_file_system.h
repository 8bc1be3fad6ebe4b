/*
 * small_file_system.h
 *	  shared_directory with a file system of any size, for tests.
 */
#ifndef SMALL_FILE_SYSTEM_H
#define SMALL_FILE_SYSTEM_H

#define MB ((uint64) 1024 * 1024)

extern uint64 file_system_bytes;	/* 0 = as it really is */
extern uint64 file_system_free;

/* What each asks and does after its directory's name, for other tests. */
extern void make_directory(char *directory, Size bytes);
extern void remove_directory(const char *directory);

#endif							/* SMALL_FILE_SYSTEM_H */
