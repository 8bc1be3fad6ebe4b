/*
 * shared_addresses.h
 *	  Which frames most of the bytes of several stacks went through, for a process that knows its
 *	  frames by their addresses only.
 *
 * shared_frames.h says which ones these are.  Lines of one function are told apart, but for those
 * of a routine.  Callable inside palloc: the room is private memory, which lasts until the end.
 */
#pragma once

#include "base/private_memory.h"
#include "profile/profile_layout.h"
#include "profile/shared_frames.h"

typedef struct PlhSharedAddresses
{
	PlhSharedFrames frames;		/* "what" of one is its PlhFrame in a record */
	PlhRegion	region;			/* of its places */
} PlhSharedAddresses;

/* Returns false where there is no memory; else it has to be ended. */
extern bool plh_shared_addresses_begin(PlhSharedAddresses *shared);
extern void plh_shared_addresses_end(PlhSharedAddresses *shared);

/* Add a stack of so many bytes; NULL: it is not known. */
extern void plh_shared_addresses_add(PlhSharedAddresses *shared, double bytes,
									 const PlhStackRecord *stack);
