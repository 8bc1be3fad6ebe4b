/*
 * proof_buckets.h
 *	  Finds an element of a list by its key, in a table of buckets that is never full.
 */
#pragma once

/* Has the element of that number the key? */
typedef bool (*PlhProofIsKey) (const void *list, uint32 number, const void *key);

static inline uint64
plh_proof_mixed(uint64 value)
{
	value *= UINT64CONST(0x9E3779B97F4A7C15);
	return value ^ value >> 29;
}

/* The bucket that has the number of the element with that key, plus one; or 0, for it to come. */
static inline uint32 *
plh_proof_bucket(uint32 *buckets, uint32 count, uint64 hash, PlhProofIsKey is_key,
				 const void *list, const void *key)
{
	for (uint32 i = plh_proof_mixed(hash) >> 20;; i++)
	{
		uint32	   *bucket = &buckets[i % count];

		if (*bucket == 0 || is_key(list, *bucket - 1, key))
			return bucket;
	}
}
