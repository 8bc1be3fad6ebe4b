/*
 * mutate_profile.c
 *	  Changes profiles by records, beside libFuzzer's changes of bytes: a chain of
 *	  records that is broken at its second link has nothing more to be read.
 */
#include "postgres.h"

#include "common/pg_prng.h"

#include "fuzz.h"
#include "profile_input.h"

/* Records of an input that are known. */
#define MAX_RECORDS 512

typedef struct Records
{
	int			count;
	uint32		offsets[MAX_RECORDS];
} Records;

extern size_t LLVMFuzzerMutate(uint8 *data, size_t bytes, size_t room);
extern size_t LLVMFuzzerCustomMutator(uint8 *data, size_t bytes, size_t room,
									  unsigned int seed);

static int
below(pg_prng_state *prng, int limit)
{
	return (int) pg_prng_uint64_range(prng, 0, limit - 1);
}

static PlhRecord *
record_at(uint8 *data, uint32 offset)
{
	return (PlhRecord *) (data + offset);
}

/* Find the records, and mend the chain: one of no sound length ends the file. */
static void
find_records(uint8 *data, size_t bytes, Records *records)
{
	size_t		offset = INPUT_HEAD_BYTES;

	records->count = 0;
	while (offset + sizeof(PlhRecord) <= bytes && records->count < MAX_RECORDS)
	{
		PlhRecord  *record = record_at(data, offset);
		size_t		left = (bytes - offset) & ~(size_t) 7;

		if (record->bytes < sizeof(PlhRecord) || record->bytes % 8 != 0 ||
			record->bytes > left)
			record->bytes = left;
		records->offsets[records->count++] = offset;
		offset += record->bytes;
	}
}

static uint32
any_record(pg_prng_state *prng, const Records *records)
{
	return records->offsets[below(prng, records->count)];
}

/* Let libFuzzer change one record, without a change of its length. */
static void
change_record(pg_prng_state *prng, uint8 *data, const Records *records)
{
	uint32		offset = any_record(prng, records);
	PlhRecord  *record = record_at(data, offset);
	uint32		bytes = record->bytes;

	(void) LLVMFuzzerMutate(data + offset + sizeof(PlhRecord),
							bytes - sizeof(PlhRecord),
							bytes - sizeof(PlhRecord));
	record->bytes = bytes;
}

/* Let a word of a record refer to another record. */
static void
refer(pg_prng_state *prng, uint8 *data, const Records *records)
{
	uint32		offset = any_record(prng, records);
	uint32		words = record_at(data, offset)->bytes / sizeof(uint32);

	((uint32 *) (data + offset))[2 + below(prng, Min(words - 2, 16))] =
		any_record(prng, records) + INPUT_GAP_BYTES;
}

/* Append a copy of a record. */
static size_t
repeat_record(pg_prng_state *prng, uint8 *data, size_t bytes, size_t room,
			  const Records *records)
{
	PlhRecord  *record = record_at(data, any_record(prng, records));

	bytes &= ~(size_t) 7;
	if (record->bytes > room - bytes)
		return bytes;
	memcpy(data + bytes, record, record->bytes);
	return bytes + record->bytes;
}

size_t
LLVMFuzzerCustomMutator(uint8 *data, size_t bytes, size_t room,
						unsigned int seed)
{
	Records		records;
	pg_prng_state prng;

	pg_prng_seed(&prng, seed);
	if (bytes < INPUT_HEAD_BYTES + sizeof(PlhRecord) || below(&prng, 4) == 0)
		return LLVMFuzzerMutate(data, bytes, room);
	find_records(data, bytes, &records);
	((PlhProfileHeader *) data)->used_bytes = bytes + INPUT_GAP_BYTES;
	switch (below(&prng, 6))
	{
		case 0:
			return repeat_record(&prng, data, bytes, room, &records);
		case 1:
			record_at(data, any_record(&prng, &records))->kind = below(&prng, 10);
			return bytes;
		case 2:
			refer(&prng, data, &records);
			return bytes;
		default:
			change_record(&prng, data, &records);
			return bytes;
	}
}
