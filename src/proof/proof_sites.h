/*
 * proof_sites.h
 *	  Adds chunks up by the call sites of their samples, beside what they look like.
 *
 * It runs in the child that proves.  Groups of sites are made first, while the profile is mapped.
 */
#pragma once

#include "proof/proof_groups.h"

typedef struct PlhProofSites
{
	uint32	   *buckets;		/* of groups of a site */
	PlhProofGroups groups;		/* those of sites come first */
} PlhProofSites;

/* With the live samples' sites; NULL: there is no room. */
extern PlhProofSites *plh_proof_sites_make(void);

/* To be marked with: plh_proof_sites_found is what "found" calls.  Returns false without room. */
extern bool plh_proof_sites_start(PlhProofSites *sites, PlhHeapContexts *contexts);
extern void plh_proof_sites_found(void *arg, const PlhHeapFound *found);

/* Once all is marked: add what is lost. */
extern void plh_proof_sites_finish(PlhProofSites *sites);
