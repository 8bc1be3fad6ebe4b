/*
 * proven.c
 *	  What a proof tells of call sites: how much of what they hold nothing points to, and who has
 *	  the rest.
 */
#include "postgres.h"

#include "common/int.h"

#include "judge/proven.h"
#include "profile/proof_image.h"

static const char *
text_of(const PlhProof *proof, uint32 offset)
{
	const char *text = plh_proof_image_text(proof, offset);

	return text[0] == '\0' ? NULL : text;
}

/* That part of bytes. */
static int64
part_of(int64 bytes, double part)
{
	return (int64) (part * (double) bytes);
}

/*
 * What a proof tells of a site, by the same samples as the site's own figures.  It can't be more
 * than the site holds now.
 */
void
plh_proven_collect(PlhProven *proven, const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhProofGroup *group = plh_proof_image_of_site(image, site);
	int64		live = Max(site->counters.live_bytes, 0);
	double		still;

	memset(proven, 0, sizeof(*proven));
	if (group == NULL)
		return;
	proven->at = image->proof->at;
	proven->lost_bytes = Min(group->lost_bytes, live);
	still = proven->lost_bytes / (double) Max(group->lost_bytes, 1);
	proven->resettable_bytes = part_of(group->resettable_bytes, still);
	proven->lost_samples = group->lost_samples;
	proven->lost_variance = still * still * group->lost_variance;
	proven->held_bytes = Min(group->bytes - group->lost_bytes, live - proven->lost_bytes);
	proven->holder_bytes = Min(group->holder_bytes, proven->held_bytes);
	proven->holder = text_of(image->proof, group->holder);
	proven->path = text_of(image->proof, group->path);
}

/* Add to a sum, which stays at its limit. */
static void
add(int64 *sum, int64 bytes)
{
	if (pg_add_s64_overflow(*sum, bytes, sum))
		*sum = PG_INT64_MAX;
}

/* Has that site the holder of the sum? */
static bool
has_holder_of(const PlhProven *site, const PlhProven *sum)
{
	return site->holder != NULL && sum->holder != NULL && strcmp(site->holder, sum->holder) == 0;
}

/*
 * The holder of the most is kept.  Where another one had less at each site and more in all, what is
 * said of the one that is kept is true, too.
 */
static void
pool_holder(PlhProven *sum, const PlhProven *site)
{
	if (has_holder_of(site, sum))
		add(&sum->holder_bytes, site->holder_bytes);
	else if (site->holder_bytes > sum->holder_bytes)
	{
		sum->holder = site->holder;
		sum->path = site->path;
		sum->holder_bytes = site->holder_bytes;
	}
}

/* Groups of malloc's blocks are those that live as long as the process, of a site or of none. */
void
plh_proven_collect_malloc(PlhProven *proven, const PlhProfileImage *image)
{
	const PlhProof *proof = image->proof;

	memset(proven, 0, sizeof(*proven));
	if (proof == NULL || proof->outcome != PLH_PROOF_PROVEN)
		return;
	for (uint32 i = 0; i < proof->group_count; i++)
	{
		const PlhProofGroup *group = &proof->groups[i];
		const PlhProven blocks = {
			.at = proof->at,.lost_bytes = group->lost_bytes,.lost_samples = group->lost_samples,
			.lost_variance = group->lost_variance,
			.held_bytes = group->bytes - group->lost_bytes,.holder_bytes = group->holder_bytes,
			.holder = text_of(proof, group->holder),.path = text_of(proof, group->path)
		};

		if (group->lifetime == PLH_LIFETIME_PROCESS)
			plh_proven_pool(proven, &blocks);
	}
}

PlhProvenContexts
plh_proven_contexts(const PlhProfileImage *image, const char *name)
{
	const PlhProof *proof = image->proof;
	PlhProvenContexts contexts = {0};

	if (proof == NULL || proof->outcome != PLH_PROOF_PROVEN)
		return contexts;
	contexts.at = proof->at;
	for (uint32 i = 0; i < proof->group_count; i++)
	{
		const PlhProofGroup *group = &proof->groups[i];

		if (group->site == 0 &&
			strcmp(plh_proof_image_text(proof, group->context_name), name) == 0 &&
			strcmp(plh_proof_image_text(proof, group->what), PLH_PROOF_LOST_CONTEXT) == 0)
			contexts.lost += group->lost_chunks;
	}
	return contexts;
}

void
plh_proven_pool(PlhProven *sum, const PlhProven *site)
{
	sum->at = Max(sum->at, site->at);
	add(&sum->lost_bytes, site->lost_bytes);
	add(&sum->resettable_bytes, site->resettable_bytes);
	add(&sum->lost_samples, site->lost_samples);
	sum->lost_variance += site->lost_variance;
	add(&sum->held_bytes, site->held_bytes);
	pool_holder(sum, site);
}

void
plh_proven_bound(PlhProven *proven, int64 bytes, int64 most)
{
	double		part = (double) most / (double) bytes;

	if (bytes <= most || bytes <= 0)
		return;
	proven->lost_bytes = part_of(proven->lost_bytes, part);
	proven->resettable_bytes = part_of(proven->resettable_bytes, part);
	proven->lost_variance *= part * part;
	proven->held_bytes = part_of(proven->held_bytes, part);
	proven->holder_bytes = part_of(proven->holder_bytes, part);
}
