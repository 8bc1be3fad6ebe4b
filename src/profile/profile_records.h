/*
 * profile_records.h
 *	  The owner's side of a profile: room for records, and how they are found.
 *
 * These functions may be called inside palloc, except in a critical section;
 * they never palloc or throw.  Callers hold the guard.
 */
#ifndef PLH_PROFILE_RECORDS_H
#define PLH_PROFILE_RECORDS_H

#include "common/hashfn.h"

#include "base/hash_buckets.h"
#include "profile/profile_file.h"
#include "profile/profile_layout.h"

/* Of the offsets of records; equal hashes share a chain. */
extern PlhHashBuckets plh_profile_records_buckets;

static inline void *
plh_profile_records_at(uint32 offset)
{
	Assert(offset % 8 == 0);
	Assert(offset >= MAXALIGN(sizeof(PlhProfileHeader)));
	Assert(offset + sizeof(PlhRecord) <= plh_profile_file_bytes());
	return (char *) plh_profile + offset;
}

static inline uint32
plh_profile_records_offset(const void *record)
{
	return (const char *) record - (const char *) plh_profile;
}

static inline uint32 *
plh_profile_records_bucket(uint32 hash)
{
	return plh_hash_buckets_head(&plh_profile_records_buckets, hash);
}

/*
 * Returns the next record with that hash and kind, or 0.  "offset" is the head
 * of a chain or the chain field of the record before.
 */
static inline uint32
plh_profile_records_next(uint32 offset, PlhRecordKind kind, uint32 hash)
{
	while (offset != 0)
	{
		PlhRecord  *record = plh_profile_records_at(offset);

		Assert(record->kind != PLH_RECORD_FREE);
		if (record->hash == hash && record->kind == kind)
			return offset;
		offset = record->chain;
	}
	return 0;
}

#define PLH_CHAIN_OF(offset) \
	(((PlhRecord *) plh_profile_records_at(offset))->chain)

static inline uint32
plh_profile_records_hash_site(const PlhSiteKey *key)
{
	return hash_combine(hash_combine(murmurhash32(key->stack),
									 key->context_name),
						hash_combine(key->statement, key->lifetime));
}

/*
 * Does a site have that key?  The key was just put together, word by word: memcmp would
 * wait for these stores, as it loads two words at once.
 */
static inline bool
plh_profile_records_is_site(uint32 offset, const PlhSiteKey *key)
{
	const PlhSiteRecord *site = plh_profile_records_at(offset);

	return site->key.stack == key->stack &&
		site->key.context_name == key->context_name &&
		site->key.statement == key->statement &&
		site->key.lifetime == key->lifetime;
}

/* Returns the site with that key and hash, or 0. */
static inline uint32
plh_profile_records_find_site(const PlhSiteKey *key, uint32 hash)
{
	uint32		offset = *plh_profile_records_bucket(hash);

	while ((offset = plh_profile_records_next(offset, PLH_RECORD_SITE,
											  hash)) != 0)
	{
		if (plh_profile_records_is_site(offset, key))
			break;
		offset = PLH_CHAIN_OF(offset);
	}
	return offset;
}

extern bool plh_profile_records_begin(void);
extern void plh_profile_records_discard(void);
extern void *plh_profile_records_take(Size bytes);
extern void plh_profile_records_return(void *taken);
extern uint32 plh_profile_records_add(void *filled, PlhRecordKind kind,
									  Size bytes, uint32 hash);
extern void plh_profile_records_rehash(uint32 offset, uint32 hash);
extern void plh_profile_records_give_up(uint32 offset);
extern bool plh_profile_records_join(uint32 offset);
extern void plh_profile_records_end_round(void);
extern Size plh_profile_records_size(Size bytes);
extern Size plh_profile_records_bytes(PlhRecordKind kind);
extern Size plh_profile_records_bytes_in_use(void);

#endif							/* PLH_PROFILE_RECORDS_H */
