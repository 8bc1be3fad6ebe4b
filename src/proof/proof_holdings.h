/*
 * proof_holdings.h
 *	  What each root holds of each group.
 */
#pragma once

#include "heap/heap_mark.h"

typedef struct PlhProofHeld
{
	uint32		group;
	uint32		root;
	int64		bytes;
	uintptr_t	first;			/* of one chunk: that the root points to */
	uintptr_t	from;			/* that points to it; 0: the root does */
} PlhProofHeld;

typedef struct PlhProofHoldings
{
	PlhProofHeld *list;
	uint32		count;
	uint32	   *buckets;
} PlhProofHoldings;

/* Returns false without room. */
extern bool plh_proof_holdings_start(PlhProofHoldings *holdings);

/*
 * The root by which a chunk was found holds so much of the group, too.  NULL: there is no room for
 * it, and it is left out.
 */
extern PlhProofHeld *plh_proof_holdings_add(PlhProofHoldings *holdings, uint32 group,
											const PlhHeapFound *found, int64 bytes);

/* The largest first: their places change. */
extern void plh_proof_holdings_sort(PlhProofHoldings *holdings);
