/*
 * proof_told.h
 *	  Makes the file of a proof of its groups: what is worth a line, with its words.
 */
#pragma once

#include "heap/heap_roots.h"
#include "proof/proof_groups.h"

/* Groups are sorted, and not to be added to any more.  NULL: there is no room. */
extern PlhProof *plh_proof_told_make(PlhProofGroups *groups, const PlhHeapRoots *roots,
									 Size *bytes);
