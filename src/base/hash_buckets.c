/*
 * hash_buckets.c
 *	  The buckets of a hash table that grows by one of them at a time.
 *
 * Invariant: bucket b of n buckets, where 2^k <= n < 2^(k+1), holds the items whose hash modulo
 * 2^(k+1) is b or, if that is >= n, whose hash modulo 2^k is b.
 */
#include "postgres.h"

#include "base/hash_buckets.h"
#include "base/page_layout.h"

/* A table starts with this many buckets. */
#define FIRST_BUCKETS 64

/*
 * Reserve address space for that many buckets, and set up the first ones; buckets that have begun
 * stay as they are.  Returns false if there is no memory.
 */
bool
plh_hash_buckets_begin(PlhHashBuckets *buckets, uint32 max_count, uint32 end)
{
	if (buckets->count != 0)
		return true;
	buckets->max_count = Max(max_count, FIRST_BUCKETS);
	buckets->end = end;
	if (!plh_private_memory_reserve(&buckets->region, sizeof(uint32) * (Size) buckets->max_count) ||
		!plh_private_memory_commit(&buckets->region, sizeof(uint32) * FIRST_BUCKETS))
		return false;

	buckets->heads = (uint32 *) buckets->region.base;
	for (int i = 0; i < FIRST_BUCKETS; i++)
		buckets->heads[i] = end;
	buckets->count = FIRST_BUCKETS;
	buckets->low_count = FIRST_BUCKETS;
	return true;
}

/*
 * Add one bucket, and move the items that belong there to it.  If there is no memory for the
 * bucket, the chains get longer, and nothing else happens.
 */
pg_noinline void
plh_hash_buckets_split(PlhHashBuckets *buckets, PlhHashLink link_of, const void *table)
{
	uint32		new_bucket = buckets->count;
	uint32	   *new_head = &buckets->heads[new_bucket];
	uint32	   *link = &buckets->heads[new_bucket - buckets->low_count];

	if (!plh_private_memory_commit(&buckets->region, sizeof(uint32) * ((Size) new_bucket + 1)))
		return;
	*new_head = buckets->end;
	buckets->count++;
	if (buckets->count == 2 * buckets->low_count)
		buckets->low_count = buckets->count;

	while (*link != buckets->end)
	{
		uint32		item = *link;
		uint32		hash;
		uint32	   *next = link_of(table, item, &hash);

		if (plh_hash_buckets_head(buckets, hash) == new_head)
		{
			*link = *next;
			*next = *new_head;
			*new_head = item;
		}
		else
			link = next;
	}
}

/* Give the memory back.  The buckets may begin anew. */
PLH_EVERY_PROCESS void
plh_hash_buckets_discard(PlhHashBuckets *buckets)
{
	/* a forked child need not write to what has nothing: a page fault each */
	if (buckets->region.base == NULL)
		return;
	plh_private_memory_discard(&buckets->region);
	memset(buckets, 0, sizeof(*buckets));
}
