/*
 * profile_file.h
 *	  The memory of this process' profile: anonymous at first, later a mapped
 *	  file that other processes can read, at the same address.
 *
 * Callable inside palloc, except in a critical section; never pallocs or
 * throws.  Every page is reserved in the file system before it is touched: a
 * full disk is a refused growth, never a SIGBUS.
 */
#ifndef PLH_PROFILE_FILE_H
#define PLH_PROFILE_FILE_H

#include "profile/profile_layout.h"

/*
 * This process' profile: where the memory begins; NULL before
 * plh_profile_file_start.
 */
extern PlhProfileHeader *plh_profile;

extern bool plh_profile_file_start(Size max_bytes);
extern bool plh_profile_file_grow(Size bytes);
extern bool plh_profile_file_publish(const char *path,
									 const char *temporary);
extern bool plh_profile_file_verify(void);
extern bool plh_profile_file_is_published(void);
extern Size plh_profile_file_bytes(void);
extern void plh_profile_file_unlink(void);
extern void plh_profile_file_forget(void);

#endif							/* PLH_PROFILE_FILE_H */
