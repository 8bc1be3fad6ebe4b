/*
 * dump_addresses.h
 *	  Made-up load addresses for the modules of a profile.
 *
 * The addresses come from the build-ids and are the same everywhere, so that dumps of different
 * processes, before and after a restart, can be compared.  These functions may be called inside
 * palloc; they never palloc or throw.
 */
#pragma once

#include "profile/profile_image.h"

typedef struct PlhPlacement
{
	const PlhProfileImage *image;
	uint64		bases[PLH_IMAGE_MODULES];	/* by index of the module */
} PlhPlacement;

extern void plh_dump_addresses_place(PlhPlacement *placement, const PlhProfileImage *image);
extern uint64 plh_dump_addresses_wanted(const PlhModuleRecord *module);
extern uint64 plh_dump_addresses_of(const PlhPlacement *placement, PlhFrame frame);
