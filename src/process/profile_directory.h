/*
 * profile_directory.h
 *	  The directory in which the processes of this server publish profiles.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PROFILE_DIRECTORY_H
#define PLH_PROFILE_DIRECTORY_H

extern const char *plh_profile_directory_claim(void);
extern const char *plh_profile_directory_path(void);
extern void plh_profile_directory_remove(void);

#endif							/* PLH_PROFILE_DIRECTORY_H */
