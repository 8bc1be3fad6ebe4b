/*
 * shared_addresses.c
 *	  Which frames most of the bytes of several stacks went through, for a process that knows its
 *	  frames by their addresses only.
 */
#include "postgres.h"

#include "profile/shared_addresses.h"

/* Room for the frames of all stacks; it is 450 kB, of which what is used is touched. */
#define FRAMES 8192

bool
plh_shared_addresses_begin(PlhSharedAddresses *shared)
{
	Size		bytes = sizeof(PlhSharedFrame) * FRAMES;

	memset(shared, 0, sizeof(*shared));
	if (!plh_private_memory_reserve(&shared->region, bytes))
		return false;
	if (!plh_private_memory_commit(&shared->region, bytes))
	{
		plh_private_memory_discard(&shared->region);
		return false;
	}
	plh_shared_frames_begin(&shared->frames, (PlhSharedFrame *) shared->region.base, FRAMES);
	return true;
}

/* What a frame is known by; never 0. */
static uint64
id_of(PlhFrame frame)
{
	if (PLH_FRAME_IS_ROUTINE(frame))
		return PLH_ROUTINE_FRAME(PLH_ROUTINE_LANGUAGE(frame), 0, PLH_ROUTINE_STRING(frame));
	return Max(frame, 1);
}

void
plh_shared_addresses_add(PlhSharedAddresses *shared, double bytes, const PlhStackRecord *stack)
{
	plh_shared_frames_begin_stack(&shared->frames, bytes);
	for (uint32 i = 0; stack != NULL && i < stack->depth; i++)
		plh_shared_frames_add(&shared->frames, id_of(stack->frames[i]), &stack->frames[i]);
}

void
plh_shared_addresses_end(PlhSharedAddresses *shared)
{
	plh_private_memory_discard(&shared->region);
}
