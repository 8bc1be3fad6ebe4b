/*
 * proof_image.h
 *	  Checked access to a proof in memory, whatever its bytes are.
 *
 * These functions allocate nothing and never throw.
 */
#pragma once

#include "profile/profile_image.h"
#include "profile/proof_layout.h"

/* Are these bytes a proof, all of whose figures can be true? */
extern bool plh_proof_image_is_sound(const PlhProof *proof, Size bytes);

/* What was proven of a site; NULL: nothing was. */
extern const PlhProofGroup *plh_proof_image_of_site(const PlhProfileImage *image,
													const PlhSiteRecord *site);

/* A text; never NULL. */
extern const char *plh_proof_image_text(const PlhProof *proof, uint32 offset);
