/*
 * profile_reader.h
 *	  Reads the profiles of all processes of this server, dead or alive, into
 *	  images.
 *
 * A file that is not a profile of this version is passed over with a WARNING;
 * a file or directory that is missing means that there is no profile.  Only an
 * interrupt, or a lack of memory or descriptors, is an ERROR.  Never called
 * inside palloc.
 */
#ifndef PLH_PROFILE_READER_H
#define PLH_PROFILE_READER_H

#include "profile/profile_image.h"

/*
 * Called with each image, in a memory context of its own: the image, and all that
 * the visitor allocates there, are gone when it returns.
 */
typedef void (*PlhProfileVisitor) (PlhProfileImage *image, void *arg);

/* The image belongs to the current memory context; NULL without a profile. */
extern PlhProfileImage *plh_profile_reader_find(const char *directory, int pid);

extern void plh_profile_reader_each(const char *directory, int pid,
									bool header_only,
									PlhProfileVisitor visit, void *arg);

#endif							/* PLH_PROFILE_READER_H */
