/*
 * dump_directory.h
 *	  The directory of the dump files: their names, and how many are kept.
 *
 * Callable inside palloc and at exit: allocates nothing and reports nothing.
 * What fails is returned as an errno, 0 for success.
 */
#ifndef PLH_DUMP_DIRECTORY_H
#define PLH_DUMP_DIRECTORY_H

extern bool plh_dump_directory_is_dump(const char *name);
extern bool plh_dump_directory_is_temporary(const char *name);
extern int	plh_dump_directory_make(void);
extern int	plh_dump_directory_highest(int pid, int *highest);
extern int	plh_dump_directory_trim(int keep);

#endif							/* PLH_DUMP_DIRECTORY_H */
