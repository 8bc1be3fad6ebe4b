/*
 * dump_directory.h
 *	  The directory of the dump files: their names, and how many are kept.
 *
 * These functions may be called inside palloc and at exit; they allocate
 * nothing and report nothing.  Those that can fail return an errno, or 0 for
 * success.
 */
#ifndef PLH_DUMP_DIRECTORY_H
#define PLH_DUMP_DIRECTORY_H

extern bool plh_dump_directory_is_dump(const char *name);
extern void plh_dump_directory_temporary(char *path, Size bytes,
										 uint32 number);
extern int	plh_dump_directory_make(void);
extern int	plh_dump_directory_highest(int pid, int *highest);
extern int	plh_dump_directory_trim(const char *reason, int keep);
extern void plh_dump_directory_remove_abandoned(void);

#endif							/* PLH_DUMP_DIRECTORY_H */
