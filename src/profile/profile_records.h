/*
 * profile_records.h
 *	  The owner's side of a profile: room for records, and how they are found.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc or
 * throw.  Callers hold the guard.
 */
#pragma once

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/guard.h"
#include "base/hash_buckets.h"
#include "profile/profile_file.h"
#include "profile/profile_layout.h"

/* Of the offsets of records; equal hashes share a chain. */
extern PlhHashBuckets plh_profile_records_buckets;

/* Of the hashes of this profile: nobody can choose records that share a chain. */
extern uint64 plh_profile_records_seed;

/* Asserts that the profile exists and may grow here. */
static inline void
plh_profile_records_assert_growth(void)
{
	Assert(plh_profile != NULL);
	Assert(plh_guard_held);
	Assert(CritSectionCount == 0);
}

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

/* The next such record, or 0, from the head of a chain or the chain field of a record on. */
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

/* Let "offset" be that of each record of a kind and hash; 0 when there are no more. */
#define PLH_FOR_RECORDS(offset, kind, hash) \
	for (offset = plh_profile_records_next(*plh_profile_records_bucket(hash), kind, hash); \
		 offset != 0; offset = plh_profile_records_next(PLH_CHAIN_OF(offset), kind, hash))

/* A hash of what a record says, but of a site. */
static inline uint32
plh_profile_records_hash(const void *key, Size bytes)
{
	return (uint32) hash_bytes_extended(key, bytes, plh_profile_records_seed);
}

static inline uint32
plh_profile_records_hash_site(const PlhSiteKey *key)
{
	uint32		hash = murmurhash32(key->stack ^ (uint32) plh_profile_records_seed);

	/* offsets are multiples of 8, and there are fewer lifetimes */
	hash = murmurhash32(hash ^ key->context_name ^ key->lifetime);
	return murmurhash32(hash ^ key->statement);
}

/*
 * Does a site have that key?  The key was just put together, word by word: memcmp would wait for
 * these stores, as it loads two words at once.
 */
static inline bool
plh_profile_records_is_site(uint32 offset, const PlhSiteKey *key)
{
	const PlhSiteRecord *site = plh_profile_records_at(offset);

	return site->key.stack == key->stack &&
		site->key.context_name == key->context_name &&
		site->key.statement == key->statement && site->key.lifetime == key->lifetime;
}

static inline uint32
plh_profile_records_find_site(const PlhSiteKey *key, uint32 hash)
{
	uint32		offset;

	PLH_FOR_RECORDS(offset, PLH_RECORD_SITE, hash)
	{
		if (plh_profile_records_is_site(offset, key))
			break;
	}
	return offset;
}

extern bool plh_profile_records_begin(void);
extern void plh_profile_records_forget(void);
extern void *plh_profile_records_take(Size bytes);
extern void plh_profile_records_return(void *taken);
extern uint32 plh_profile_records_add(void *filled, PlhRecordKind kind, Size bytes, uint32 hash);
extern void plh_profile_records_rehash(uint32 offset, uint32 hash);
extern void plh_profile_records_give_up(uint32 offset);
extern bool plh_profile_records_join(uint32 offset);
extern const PlhRecord *plh_profile_records_step(void);
extern void plh_profile_records_end_round(void);
extern Size plh_profile_records_size(Size bytes);
extern Size plh_profile_records_bytes(PlhRecordKind kind);
extern Size plh_profile_records_bytes_in_use(void);
extern void plh_profile_records_limit(Size bytes);

/*
 * What roles without privileges may take of a session's profile, in records, by having all or many
 * of their allocations sampled: a profile lies in memory that is all sessions'.
 */
#define PLH_BOUNDED_ROOM (1024 * 1024)

/*
 * Between these calls, which don't nest, the profile grows no further than the room that is left,
 * if "bounded".  "end" gets what "begin" returned.  Never called inside palloc.
 */
extern Size plh_profile_records_begin_bounded(bool bounded);
extern void plh_profile_records_end_bounded(bool bounded, Size bytes_before);
