/*
 * finding_sites.c
 *	  The call sites of what a finding is about.
 */
#include "postgres.h"

#include "judge/finding_sites.h"
#include "judge/site_suspects.h"
#include "reader/collections.h"

/* Is a site one of those that the finding is about? */
static bool
is_of(const PlhFinding *finding, const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhFamilyAccount *family = plh_finding_family(finding);

	if (family == NULL)
		return finding->kind == PLH_KIND_STATEMENT ?
			!plh_lifetime_is_lasting(site->key.lifetime) : site == finding->site;
	return plh_site_suspects_is_in(image, site, family) ||
		(finding->contexts.output != NULL &&
		 plh_site_suspects_is_in(image, site, finding->contexts.output));
}

PlhShare *
plh_finding_sites(const PlhFinding *finding, const PlhProfileImage *image, int *count)
{
	const PlhJudge all = {.image = image,.judges_malloc = true};
	int			room = 64;
	PlhShare   *shares = palloc(sizeof(PlhShare) * room);
	PlhGroupedSite next;
	uint32		position = 0;

	*count = 0;
	if (plh_finding_subject(finding) == PLH_SUBJECT_SITE && finding->sites.part_count > 0)
	{
		*count = finding->sites.part_count;
		return memcpy(shares, finding->sites.parts, sizeof(PlhShare) * *count);
	}
	while (plh_site_suspects_next(&next, &all, &position))
	{
		int64		bytes = next.site->counters.live_bytes;

		if (bytes <= 0 || !is_of(finding, image, next.site))
			continue;
		shares = plh_array_grow(shares, *count, &room, sizeof(PlhShare));
		shares[(*count)++] = (PlhShare)
		{
			next.site, bytes
		};
	}
	qsort(shares, *count, sizeof(PlhShare), plh_site_facts_compare_shares);
	return shares;
}
