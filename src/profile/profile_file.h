/*
 * profile_file.h
 *	  The memory of this process' profile: anonymous at first, later a file, at the same address.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc or
 * throw.  Every page is reserved in the file system before it is touched, so that a full disk
 * refuses growth and never raises SIGBUS.  Where there is no room for others beside it
 * (shared_directory.h), the file has a part of the profile only, or there is none.
 */
#pragma once

#include "profile/profile_layout.h"

/* The memory of this process' profile begins here.  NULL before plh_profile_file_start. */
extern PlhProfileHeader *plh_profile;

extern bool plh_profile_file_start(Size max_bytes);
extern bool plh_profile_file_grow(Size bytes);
extern bool plh_profile_file_publish(const char *directory);
extern bool plh_profile_file_verify(void);
extern bool plh_profile_file_is_published(void);
extern bool plh_profile_file_is_whole(void);
extern Size plh_profile_file_bytes(void);
extern void plh_profile_file_unlink(void);
extern void plh_profile_file_forget(void);
