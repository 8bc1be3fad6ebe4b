/*
 * proof_image.h
 *	  Checked access to a proof in memory, whatever its bytes are.
 *
 * These functions allocate nothing and never throw.
 */
#pragma once

#include "profile/profile_image.h"
#include "profile/proof_layout.h"

/* How many the file has, by the counts in its header. */
extern Size plh_proof_image_bytes(const PlhProof *proof);

/*
 * Can a file of these bytes begin like this?  All sums of the header are figures that can be true.
 */
extern bool plh_proof_image_is_sound_head(const PlhProof *proof, Size bytes);

/* Are these bytes a proof, all of whose figures can be true? */
extern bool plh_proof_image_is_sound(const PlhProof *proof, Size bytes);

/* What was proven of a site; NULL: nothing was. */
extern const PlhProofGroup *plh_proof_image_of_site(const PlhProfileImage *image,
													const PlhSiteRecord *site);

/* What single roots hold, the largest first: proof->holding_count of them. */
extern const PlhProofHolding *plh_proof_image_holdings(const PlhProof *proof);

/* A text; never NULL. */
extern const char *plh_proof_image_text(const PlhProof *proof, uint32 offset);
