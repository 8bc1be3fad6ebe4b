/*
 * dump_addresses.h
 *	  Made-up load addresses for the binaries of a profile.
 *
 * They come from the build-ids and are the same everywhere, so that dumps of
 * different processes, before and after a restart, can be compared.  Also
 * called inside palloc: never pallocs, never throws.
 */
#ifndef PLH_DUMP_ADDRESSES_H
#define PLH_DUMP_ADDRESSES_H

#include "profile/profile_image.h"

typedef struct PlhPlacement
{
	const PlhProfileImage *image;
	uint64		bases[PLH_IMAGE_MODULES];	/* by index */
} PlhPlacement;

extern void plh_dump_addresses_place(PlhPlacement *placement,
									 const PlhProfileImage *image);
extern uint64 plh_dump_addresses_of(const PlhPlacement *placement,
									PlhFrame frame);

#endif							/* PLH_DUMP_ADDRESSES_H */
