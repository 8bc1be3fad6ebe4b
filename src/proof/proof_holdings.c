/*
 * proof_holdings.c
 *	  What each root holds of each group.
 */
#include "postgres.h"

#include "heap/heap.h"
#include "proof/proof_buckets.h"
#include "proof/proof_holdings.h"

#define MOST 65536
#define BUCKETS 262144

bool
plh_proof_holdings_start(PlhProofHoldings *holdings)
{
	holdings->list = plh_heap_reserve(MOST * sizeof(PlhProofHeld));
	holdings->buckets = plh_heap_reserve(BUCKETS * sizeof(uint32));
	return holdings->list != NULL && holdings->buckets != NULL;
}

/* PlhProofIsKey */
static bool
is_held(const void *list, uint32 number, const void *key)
{
	const PlhProofHeld *held = (const PlhProofHeld *) list + number;
	const PlhProofHeld *wanted = key;

	return held->group == wanted->group && held->root == wanted->root;
}

PlhProofHeld *
plh_proof_holdings_add(PlhProofHoldings *holdings, uint32 group, const PlhHeapFound *found,
					   int64 bytes)
{
	PlhProofHeld key = {
		.group = group,.root = found->root,.first = found->first,.from = found->from
	};
	uint32	   *bucket = plh_proof_bucket(holdings->buckets, BUCKETS,
										  plh_proof_mixed(group) + found->root,
										  is_held, holdings->list, &key);

	if (*bucket == 0)
	{
		if (holdings->count == MOST)
			return NULL;
		holdings->list[holdings->count++] = key;
		*bucket = holdings->count;
	}
	holdings->list[*bucket - 1].bytes += bytes;
	return &holdings->list[*bucket - 1];
}

#define ST_SORT sort_held
#define ST_ELEMENT_TYPE PlhProofHeld
#define ST_COMPARE(a, b) ((a)->bytes == (b)->bytes ? 0 : (a)->bytes > (b)->bytes ? -1 : 1)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

void
plh_proof_holdings_sort(PlhProofHoldings *holdings)
{
	sort_held(holdings->list, holdings->count);
}
