/*
 * proof_groups.h
 *	  Adds chunks up by what they look like, with who holds most of each.
 *
 * It knows nothing of samples: groups of call sites are proof_sites.h's, which stand in the same
 * list.  It calls nothing of the server's: what it has to know of one is handed in.
 */
#pragma once

#include "heap/heap_kinds.h"
#include "heap/heap_known.h"
#include "profile/proof_layout.h"
#include "proof/proof_holdings.h"
#include "proof/proof_texts.h"

/* The most groups that are kept apart; the sites of samples have at most half of them. */
#define PLH_PROOF_MOST_GROUPS 32768

/* A group, and what its words are made of. */
typedef struct PlhProofSum
{
	PlhProofGroup told;
	Size		size;			/* of chunks of a kind */
	PlhHeapLook look;
	uint32		number;			/* in the order in which they were found */
	const PlhProofHeld *largest;	/* NULL: nobody holds it */
} PlhProofSum;

/* What is to be known of the server whose memory it is. */
typedef struct PlhProofServer
{
	PlhHeapTags tags;
	PlhHeapLasting lasting;
	PlhLifetime (*lifetime_of) (const PlhHeapContexts *contexts, uint32 number);
} PlhProofServer;

typedef struct PlhProofGroups
{
	PlhHeapContexts *contexts;
	PlhProofServer server;
	PlhProofTexts texts;
	PlhProofSum *list;
	uint32		count;
	uint32	   *buckets;		/* of groups of a kind */
	PlhProofHoldings holdings;
	uint32	   *names;			/* of contexts, by number: texts */
	int64	   *chunk_bytes;	/* of contexts: of all chunks that are in use */
	uint8	   *lifetimes;
	uint8	   *resettable;		/* 0: not known yet, 1: no, 2: yes */
	PlhProof	sums;
} PlhProofGroups;

/* The groups, which are zeros.  Returns false without room. */
extern bool plh_proof_groups_make(PlhProofGroups *groups);

/* To be marked with: plh_proof_groups_found is what "found" calls.  Returns false without room. */
extern bool plh_proof_groups_start(PlhProofGroups *groups, PlhHeapContexts *contexts,
								   const PlhProofServer *server);
extern void plh_proof_groups_found(void *arg, const PlhHeapFound *found);

/* The root by which a chunk was found holds so much of the group. */
extern void plh_proof_groups_add_held(PlhProofGroups *groups, PlhProofSum *group,
									  const PlhHeapFound *found, int64 bytes);

/* Can somebody free what is lost in the context, with it? */
extern bool plh_proof_groups_is_resettable(PlhProofGroups *groups, uint32 context);

/* Once all is marked: add what is lost. */
extern void plh_proof_groups_finish(PlhProofGroups *groups);
