/*
 * sql_prove.h
 *	  Has a process proven, and waits for the proof.
 */
#pragma once

#include "profile/proof_image.h"

/* A process that has kept too few samples for a profile gets one, if the caller may see it. */
extern void plh_sql_prove_introduce(int pid);

/* A proof of a moment after the call; NULL, and a WARNING says why. */
extern const PlhProof *plh_sql_prove(const PlhProfileImage *image);
