/*
 * merged_records.c
 *	  Finds records of a profile that say the same, so that there is one of them.
 *
 * A record says all that stands behind its PlhRecord; but statements are the same
 * if their ids are, however they are worded, and without ids if their shapes are.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/hash_seed.h"
#include "profile/statement_shape.h"
#include "reader/merged_records.h"

/* A record that others may say the same as. */
typedef struct MergedRecord
{
	uint32		offset;			/* key: where it is in the profile */
	uint32		hash;			/* of what it says, for simplehash.h */
	char		status;			/* for simplehash.h */
} MergedRecord;

/* Whose records those of a table are, and what their hashes begin with. */
typedef struct Origin
{
	PlhProfileBuilder *profile;
	uint64		seed;
} Origin;

static uint32 hash_record(const Origin *origin, uint32 offset);
static bool is_same_record(const PlhProfileBuilder *profile, uint32 left,
						   uint32 right);

#define SH_PREFIX merged_records
#define SH_ELEMENT_TYPE MergedRecord
#define SH_KEY_TYPE uint32
#define SH_KEY offset
#define SH_HASH_KEY(table, key) \
	hash_record((const Origin *) (table)->private_data, key)
#define SH_EQUAL(table, a, b) \
	is_same_record(((const Origin *) (table)->private_data)->profile, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static uint32
hash_statement(const PlhStatementRecord *statement, uint64 seed)
{
	PlhStatementShape shape;

	if (statement->query_id != 0)
		return hash_bytes_extended((const unsigned char *) &statement->query_id,
								   sizeof(statement->query_id), seed);
	plh_statement_shape_of(&shape, statement->text, statement->text_bytes);
	return hash_bytes_extended((const unsigned char *) shape.text, shape.length,
							   seed);
}

static bool
is_same_statement(const PlhStatementRecord *left,
				  const PlhStatementRecord *right)
{
	return left->query_id == right->query_id &&
		(left->query_id != 0 ||
		 plh_statement_shape_compare(left->text, left->text_bytes,
									 right->text, right->text_bytes) == 0);
}

/* What a record says: all behind the part that is the owner's business. */
static const unsigned char *
payload_of(const PlhRecord *record, Size *bytes)
{
	*bytes = record->bytes - sizeof(PlhRecord);
	return (const unsigned char *) record + sizeof(PlhRecord);
}

/* Hash what a record says. */
static uint32
hash_record(const Origin *origin, uint32 offset)
{
	const PlhRecord *record = plh_profile_builder_record(origin->profile, offset);
	Size		bytes;
	const unsigned char *payload = payload_of(record, &bytes);

	if (record->kind == PLH_RECORD_STATEMENT)
		return hash_statement((const PlhStatementRecord *) record, origin->seed);
	return hash_combine(hash_bytes_extended(payload, bytes, origin->seed),
						record->kind);
}

/* Do two records say the same? */
static bool
is_same_record(const PlhProfileBuilder *profile, uint32 left, uint32 right)
{
	const PlhRecord *one = plh_profile_builder_record(profile, left);
	const PlhRecord *other = plh_profile_builder_record(profile, right);
	Size		bytes;
	Size		other_bytes;
	const unsigned char *payload = payload_of(one, &bytes);
	const unsigned char *other_payload = payload_of(other, &other_bytes);

	if (one->kind != other->kind)
		return false;
	if (one->kind == PLH_RECORD_STATEMENT)
		return is_same_statement((const PlhStatementRecord *) one,
								 (const PlhStatementRecord *) other);
	return bytes == other_bytes &&
		memcmp(payload, other_payload, bytes) == 0;
}

/*
 * Make an empty table of a profile's records.
 */
PlhMergedRecords *
plh_merged_records_create(PlhProfileBuilder *profile)
{
	Origin	   *origin = palloc(sizeof(Origin));

	origin->profile = profile;
	origin->seed = plh_hash_seed_draw();
	return merged_records_create(CurrentMemoryContext, 1024, origin);
}

/*
 * Find the record that says the same as the last one that was added, which then
 * goes again; or keep that one.
 */
uint32
plh_merged_records_keep(PlhMergedRecords *records, uint32 added)
{
	bool		found;
	MergedRecord *record = merged_records_insert(records, added, &found);

	if (found)
		((Origin *) records->private_data)->profile->used_bytes = added;
	return record->offset;
}
