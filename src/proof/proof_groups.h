/*
 * proof_groups.h
 *	  Adds chunks up by call site, and by what they look like, with who holds most of each.
 *
 * It runs in the child that proves.  Groups of sites are made first, while the profile is mapped.
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

typedef struct PlhProofGroups
{
	PlhHeapContexts *contexts;
	PlhHeapTags tags;
	PlhHeapLasting lasting;
	PlhProofTexts texts;
	PlhProofSum *list;
	uint32		count;
	uint32	   *buckets;		/* of groups of a kind */
	uint32	   *site_buckets;
	PlhProofHoldings holdings;
	uint32	   *names;			/* of contexts, by number: texts */
	int64	   *chunk_bytes;	/* of contexts: of all chunks that are in use */
	uint8	   *lifetimes;
	uint8	   *resettable;		/* 0: not known yet, 1: no, 2: yes */
	PlhProof	sums;
} PlhProofGroups;

/* With the live samples' sites; NULL: there is no room. */
extern PlhProofGroups *plh_proof_groups_make(void);

/* To be marked with: plh_proof_groups_found is what "found" calls.  Returns false without room. */
extern bool plh_proof_groups_start(PlhProofGroups *groups, PlhHeapContexts *contexts);
extern void plh_proof_groups_found(void *arg, const PlhHeapFound *found);

/* Once all is marked: add what is lost. */
extern void plh_proof_groups_finish(PlhProofGroups *groups);
