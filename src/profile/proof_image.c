/*
 * proof_image.c
 *	  Checked access to a proof in memory, whatever its bytes are.
 */
#include "postgres.h"

#include "profile/proof_image.h"

const		PlhProofHolding *
plh_proof_image_holdings(const PlhProof *proof)
{
	return (const PlhProofHolding *) &proof->groups[proof->group_count];
}

static const char *
texts_of(const PlhProof *proof)
{
	return (const char *) &plh_proof_image_holdings(proof)[proof->holding_count];
}

const char *
plh_proof_image_text(const PlhProof *proof, uint32 offset)
{
	return offset < proof->text_bytes ? texts_of(proof) + offset : "";
}

/* No figure may be negative, and no part more than the whole. */
static bool
are_parts(int64 whole, int64 part, int64 part_of_that)
{
	return part_of_that >= 0 && part_of_that <= part && part <= whole &&
		whole <= PG_INT64_MAX / 4;
}

static bool
is_sound_group(const PlhProofGroup *group)
{
	return are_parts(group->chunks, group->lost_chunks, group->resettable_chunks) &&
		are_parts(group->bytes, group->lost_bytes, group->resettable_bytes) &&
		are_parts(group->bytes - group->lost_bytes, group->holder_bytes, 0) &&
		are_parts(group->samples, group->lost_samples, 0) &&
		group->lost_variance >= 0.0 && group->lost_variance < 1e36 &&
		group->lifetime < PLH_LIFETIMES;
}

static bool
are_sound_sums(const PlhProof *proof)
{
	return are_parts(proof->chunks, proof->lost_chunks, 0) &&
		are_parts(proof->bytes, proof->lost_bytes, proof->resettable_bytes) &&
		are_parts(proof->private_bytes, 0, 0) && are_parts(proof->contexts, 0, 0) &&
		are_parts(proof->closed_contexts, 0, 0) && are_parts(proof->closed_bytes, 0, 0) &&
		are_parts(proof->left_out_groups, 0, 0) && are_parts(proof->fork_us, 0, 0) &&
		are_parts(proof->child_us, 0, 0) && are_parts(proof->child_bytes, 0, 0) &&
		proof->outcome < PLH_PROOF_OUTCOMES;
}

Size
plh_proof_image_bytes(const PlhProof *proof)
{
	return offsetof(PlhProof, groups) + proof->group_count * sizeof(PlhProofGroup) +
		proof->holding_count * sizeof(PlhProofHolding) + proof->text_bytes;
}

bool
plh_proof_image_is_sound_head(const PlhProof *proof, Size bytes)
{
	return memcmp(proof->magic, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC)) == 0 &&
		proof->group_count <= PLH_PROOF_GROUPS && proof->holding_count <= PLH_PROOF_HOLDINGS &&
		proof->text_bytes <= PLH_PROOF_TEXT_BYTES &&
		bytes == plh_proof_image_bytes(proof) && are_sound_sums(proof);
}

/*
 * Each is of a group of its kind, and all together hold no more than is held.  The first figure
 * that makes them too much ends it, before sums could overflow.
 */
static bool
are_sound_holdings(const PlhProof *proof)
{
	const		PlhProofHolding *holdings = plh_proof_image_holdings(proof);
	int64		left_bytes = proof->bytes - proof->lost_bytes;

	for (uint32 i = 0; i < proof->holding_count; i++)
	{
		if (holdings[i].group >= proof->group_count ||
			proof->groups[holdings[i].group].site != 0 ||
			!are_parts(left_bytes, holdings[i].bytes, 0))
			return false;
		left_bytes -= holdings[i].bytes;
	}
	return true;
}

/* Those of sites come first, each of its own, and no others are of sites. */
static bool
are_sound_sites(const PlhProof *proof)
{
	if (proof->site_count > proof->group_count)
		return false;
	for (uint32 i = 0; i < proof->group_count; i++)
	{
		uint32		least = i == 0 ? 1 : proof->groups[i - 1].site + 1;

		if (i < proof->site_count ? proof->groups[i].site < least : proof->groups[i].site != 0)
			return false;
	}
	return true;
}

bool
plh_proof_image_is_sound(const PlhProof *proof, Size bytes)
{
	if (bytes < offsetof(PlhProof, groups) || !plh_proof_image_is_sound_head(proof, bytes))
		return false;
	if (proof->text_bytes > 0 && texts_of(proof)[proof->text_bytes - 1] != '\0')
		return false;
	for (uint32 i = 0; i < proof->group_count; i++)
		if (!is_sound_group(&proof->groups[i]))
			return false;
	return are_sound_sites(proof) && are_sound_holdings(proof);
}

/* The group of the site at that offset; NULL: there is none. */
static const PlhProofGroup *
find_site(const PlhProof *proof, uint32 offset)
{
	uint32		low = 0;
	uint32		high = proof->site_count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (proof->groups[middle].site < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < proof->site_count && proof->groups[low].site == offset ?
		&proof->groups[low] : NULL;
}

const PlhProofGroup *
plh_proof_image_of_site(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhProof *proof = image->proof;
	const PlhProofGroup *group;

	if (proof == NULL || proof->outcome != PLH_PROOF_PROVEN)
		return NULL;
	group = find_site(proof, plh_profile_image_offset(image, site));
	return group != NULL && group->born == site->record.born ? group : NULL;
}
