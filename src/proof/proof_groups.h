/*
 * proof_groups.h
 *	  Adds chunks up by call site, and by what they look like, with who holds most of each.
 *
 * It runs in the child that proves.  Groups of sites are made first, while the profile is mapped.
 */
#pragma once

#include "heap/heap_kinds.h"
#include "heap/heap_known.h"
#include "heap/heap_roots.h"
#include "profile/proof_layout.h"

typedef struct PlhProofGroups PlhProofGroups;

/* With the live samples' sites; NULL: there is no room. */
extern PlhProofGroups *plh_proof_groups_make(void);

/* To be marked with: plh_proof_groups_found is what "found" calls. */
extern void plh_proof_groups_start(PlhProofGroups *groups, PlhHeapContexts *contexts);
extern void plh_proof_groups_found(void *arg, const PlhHeapFound *found);

/* Once all is marked: add what is lost, and make a proof of it; NULL: there is no room. */
extern PlhProof *plh_proof_groups_finish(PlhProofGroups *groups, const PlhHeapRoots *roots,
										 Size *bytes);
