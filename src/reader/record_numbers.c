/*
 * record_numbers.c
 *	  The numbers by which records are found, such as those by which lines of a
 *	  dump refer to earlier lines.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "reader/record_numbers.h"

struct PlhRecordNumbers
{
	HTAB	   *entries;
};

typedef struct Entry
{
	uint32		number;			/* key */
	uint32		offset;			/* of the record in the image */
} Entry;

PlhRecordNumbers *
plh_record_numbers_create(void)
{
	PlhRecordNumbers *numbers = palloc(sizeof(PlhRecordNumbers));
	HASHCTL		control = {
		.keysize = sizeof(uint32),
		.entrysize = sizeof(Entry),
		.hcxt = CurrentMemoryContext
	};

	numbers->entries = hash_create("pg_leakhunt record numbers", 1024, &control,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return numbers;
}

bool
plh_record_numbers_add(PlhRecordNumbers *numbers, uint32 number,
					   uint32 offset)
{
	bool		found;
	Entry	   *entry = hash_search(numbers->entries, &number, HASH_ENTER,
									&found);

	if (!found)
		entry->offset = offset;
	return !found;
}

uint32
plh_record_numbers_find(PlhRecordNumbers *numbers, uint32 number)
{
	const Entry *entry = hash_search(numbers->entries, &number, HASH_FIND,
									 NULL);

	return entry == NULL ? 0 : entry->offset;
}
