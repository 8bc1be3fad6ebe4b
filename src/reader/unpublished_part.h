/*
 * unpublished_part.h
 *	  What a process holds at sites that are not in the file of its profile.
 */
#ifndef PLH_UNPUBLISHED_PART_H
#define PLH_UNPUBLISHED_PART_H

#include "profile/profile_image.h"

/* "header" is that of the image, in memory of the caller. */
extern void plh_unpublished_part_add(const PlhProfileImage *image,
									 PlhProfileHeader *header);

#endif							/* PLH_UNPUBLISHED_PART_H */
