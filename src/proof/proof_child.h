/*
 * proof_child.h
 *	  What the child does that a process forks to have itself proven.
 *
 * The child has a copy of the process as it was at the fork.  It calls nothing of the server's that
 * could need a lock or memory, and neither malloc nor stdio.
 */
#pragma once

#include "profile/proof_layout.h"

/*
 * Prove, write the proof into a file of that directory, and exit.  The parent notes how long it has
 * stood still.
 */
extern void plh_proof_child_run(const PlhProof *head, const int64 *stopped, const char *directory)
			__attribute__((noreturn));
