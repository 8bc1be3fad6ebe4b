/*
 * dump_addresses.c
 *	  Made-up load addresses for the modules of a profile.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "dump/dump_addresses.h"
#include "dump/dump_format.h"
#include "profile/profile_image.h"

/* Does a module with a lower index have that address? */
static bool
is_taken(const PlhPlacement *placement, uint64 base, uint32 index)
{
	for (uint32 other = 1; other < index; other++)
	{
		if (placement->bases[other] == base)
			return true;
	}
	return false;
}

/*
 * Give each module of an image its address.
 */
void
plh_dump_addresses_place(PlhPlacement *placement,
						 const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	placement->image = image;
	for (uint32 index = 1;
		 (module = plh_profile_image_module(image, index)) != NULL; index++)
	{
		uint64		slot = module->build_id_bytes > 0 ?
			hash_bytes_extended(module->build_id, module->build_id_bytes, 0) :
			hash_bytes_extended((const unsigned char *) module->path,
								module->path_bytes, 0);

		do
		{
			slot %= PLH_SLOT_COUNT;
			placement->bases[index] = PLH_SLOT_BASE + (slot << PLH_SLOT_BITS);
			slot++;
		} while (is_taken(placement, placement->bases[index], index));
	}
}

/*
 * Returns the made-up address of a frame.  A frame in no module keeps its own.
 */
uint64
plh_dump_addresses_of(const PlhPlacement *placement, PlhFrame frame)
{
	uint32		index = PLH_FRAME_MODULE(frame);
	uint64		address = PLH_FRAME_ADDRESS(frame);

	if (plh_profile_image_module(placement->image, index) == NULL)
		return address;
	return placement->bases[index] + address;
}
