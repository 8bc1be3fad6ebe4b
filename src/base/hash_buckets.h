/*
 * hash_buckets.h
 *	  The buckets of a hash table that grows by one of them at a time.
 *
 * With linear hashing each addition splits at most one bucket, so that no single palloc pays for a
 * rehash, and a small table stays on one page.  The items belong to the user: a bucket is the head
 * of a chain of numbers, each of which names one, and each item has room for the number of the
 * next.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock, and are not
 * reentrant.
 */
#pragma once

#include "base/private_memory.h"

typedef struct PlhHashBuckets
{
	uint32	   *heads;
	uint32		count;			/* now in use, grows by splitting */
	uint32		low_count;		/* the largest power of two up to it */
	uint32		max_count;
	uint32		end;			/* the number that ends each chain */
	PlhRegion	region;
} PlhHashBuckets;

/* Returns the room for the next number in an item of a table, and sets its hash. */
typedef uint32 *(*PlhHashLink) (const void *table, uint32 item, uint32 *hash);

extern bool plh_hash_buckets_begin(PlhHashBuckets *buckets, uint32 max_count, uint32 end);
extern void plh_hash_buckets_split(PlhHashBuckets *buckets, PlhHashLink link_of, const void *table);
extern void plh_hash_buckets_discard(PlhHashBuckets *buckets);

/* Returns the bucket of a hash: the head of its chain. */
static inline uint32 *
plh_hash_buckets_head(const PlhHashBuckets *buckets, uint32 hash)
{
	uint32		bucket = hash & (2 * buckets->low_count - 1);

	return &buckets->heads[bucket < buckets->count ? bucket : bucket - buckets->low_count];
}

/* Prepare the buckets for one item more than "items". */
static inline void
plh_hash_buckets_expect(PlhHashBuckets *buckets, uint32 items,
						PlhHashLink link_of, const void *table)
{
	if (items >= buckets->count && buckets->count < buckets->max_count)
		plh_hash_buckets_split(buckets, link_of, table);
}
