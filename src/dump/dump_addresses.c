/*
 * dump_addresses.c
 *	  Made-up load addresses for the modules of a profile.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "dump/dump_addresses.h"

/*
 * Made-up load addresses lie in slots of this size, from this address on: above executables without
 * ASLR, and below everything else.
 */
#define SLOT_BITS 28
#define SLOT_COUNT ((uint64) 1 << 18)
#define SLOT_BASE ((uint64) 1 << 44)

/* The address of a slot; those behind the last begin with the first again. */
static uint64
base_of_slot(uint64 slot)
{
	return SLOT_BASE + (slot % SLOT_COUNT << SLOT_BITS);
}

/* The slot that a module has if no other one has it. */
static uint64
wanted_slot(const PlhModuleRecord *module)
{
	if (module->build_id_bytes > 0)
		return hash_bytes_extended(module->build_id, module->build_id_bytes, 0);
	return hash_bytes_extended((const unsigned char *) module->path, module->path_bytes, 0);
}

uint64
plh_dump_addresses_wanted(const PlhModuleRecord *module)
{
	return base_of_slot(wanted_slot(module));
}

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

void
plh_dump_addresses_place(PlhPlacement *placement, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	memset(placement, 0, sizeof(*placement));
	placement->image = image;
	for (uint32 index = 1; index < PLH_IMAGE_MODULES; index++)
	{
		uint64		slot;

		module = plh_profile_image_module(image, index);
		if (module == NULL)
			continue;
		slot = wanted_slot(module) % SLOT_COUNT;
		do
			placement->bases[index] = base_of_slot(slot++);
		while (is_taken(placement, placement->bases[index], index));
	}
}

/* Returns the made-up address of a frame.  A frame in no module keeps its own. */
uint64
plh_dump_addresses_of(const PlhPlacement *placement, PlhFrame frame)
{
	uint32		index = PLH_FRAME_MODULE(frame);
	uint64		address = PLH_FRAME_ADDRESS(frame);

	if (plh_profile_image_module(placement->image, index) == NULL)
		return address;
	return placement->bases[index] + address;
}
