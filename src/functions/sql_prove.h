/*
 * sql_prove.h
 *	  Has a process proven, and waits for the proof.
 */
#pragma once

#include "profile/proof_image.h"

/* A proof of a moment after the call; NULL, and a WARNING says why. */
extern const PlhProof *plh_sql_prove(const PlhProfileImage *image);
