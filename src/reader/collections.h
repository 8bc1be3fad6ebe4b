/*
 * collections.h
 *	  Hash tables and growing arrays in memory contexts.
 *
 * Never called inside palloc.
 */
#pragma once

#include "utils/hsearch.h"

/* A table in the current memory context, whose entries begin with their keys. */
static inline HTAB *
plh_hash_table(const char *name, Size key_bytes, Size entry_bytes)
{
	HASHCTL		control = {
		.keysize = key_bytes,
		.entrysize = entry_bytes,
		.hcxt = CurrentMemoryContext
	};

	return hash_create(name, 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* What plh_number_of finds. */
typedef struct PlhNumberEntry
{
	uint32		offset;			/* key */
	uint32		number;
} PlhNumberEntry;

/* The number that was given to a record's offset; 0 before one was. */
static inline uint32 *
plh_number_of(HTAB *numbers, uint32 offset)
{
	bool		found;
	PlhNumberEntry *entry = hash_search(numbers, &offset, HASH_ENTER, &found);

	if (!found)
		entry->number = 0;
	return &entry->number;
}

/*
 * Make room for one more element of an array that has "count", and was palloc'd with room for
 * *room.  Returns the array, which may have moved.
 */
static inline void *
plh_array_grow(void *array, int count, int *room, Size element_bytes)
{
	if (count < *room)
		return array;
	*room *= 2;
	return repalloc_huge(array, element_bytes * *room);
}
