/*
 * sound_proof.h
 *	  A proof as a child writes it, of a profile of the tests, and its file.
 */
#ifndef SOUND_PROOF_H
#define SOUND_PROOF_H

#include "profile/proof_image.h"

/* Of each site half is lost; of two kinds of chunks one is held by two holders. */
extern PlhProof *make_proof(const PlhProfileImage *image);

/* Its file, beside the profile, until it is removed. */
extern void write_proof(const PlhProof *proof);
extern void remove_proof(void);

#endif							/* SOUND_PROOF_H */
