/*
 * profile_reader.h
 *	  The profiles of all processes of this server, dead or alive, as images.
 *
 * Never called inside palloc; throws what runs out, and reports files that are
 * no profiles as WARNINGs.
 */
#ifndef PLH_PROFILE_READER_H
#define PLH_PROFILE_READER_H

#include "profile/profile_image.h"

/*
 * Called with each image, in a memory context of its own: the image, and all that
 * the visitor allocates there, are gone when it returns.
 */
typedef void (*PlhProfileVisitor) (PlhProfileImage *image, void *arg);

extern PlhProfileImage *plh_profile_reader_find(const char *directory, int pid);
extern void plh_profile_reader_each(const char *directory, int pid,
									bool header_only,
									PlhProfileVisitor visit, void *arg);

#endif							/* PLH_PROFILE_READER_H */
