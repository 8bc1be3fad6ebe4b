/*
 * largest_site.c
 *	  The call site of a process that holds most, of one kind, and what is counted of it.
 */
#include "postgres.h"

#include "judge/largest_site.h"

/* Is the site of that kind?  What malloc has given out stays in the session, too. */
static bool
is_of_kind(const PlhSiteRecord *site, PlhSiteKind kind)
{
	if (kind == PLH_SITES_OF_MALLOC)
		return site->key.lifetime == PLH_LIFETIME_PROCESS;
	return plh_lifetime_is_lasting(site->key.lifetime) == (kind == PLH_SITES_OF_SESSION);
}

/* The site that holds most of those of that kind. */
const PlhSiteRecord *
plh_largest_site_find(const PlhProfileImage *image, PlhSiteKind kind)
{
	const PlhSiteRecord *largest = NULL;
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (site->counters.live_samples > 0 &&
			plh_profile_image_stack(image, site->key.stack) != NULL &&
			is_of_kind(site, kind) &&
			(largest == NULL ||
			 site->counters.live_bytes > largest->counters.live_bytes))
			largest = site;
	}
	return largest;
}

/* The family of the contexts of a site, if it is known. */
const PlhFamily *
plh_largest_site_family(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhStringRecord *name = plh_profile_image_string(image, site->key.context_name);

	return name == NULL ? NULL : plh_family_of(name->text);
}

/* What was counted of a family, in contexts of the session or in others; or NULL. */
const PlhFamilyAccount *
plh_largest_site_account(const PlhAccount *account, const PlhFamily *family, bool lasting)
{
	for (int i = 0; i < account->family_count; i++)
		if (family != NULL && account->families[i].family == family &&
			account->families[i].lasting == lasting)
			return &account->families[i];
	return NULL;
}

/*
 * What a site holds, which is no more than was counted after its last sample: of its family or
 * lifetime, or of malloc.
 */
int64
plh_largest_site_bytes(const PlhProfileImage *image, const PlhSiteRecord *site,
					   const PlhAccount *account)
{
	const PlhProfileHeader *header = image->header;
	int64		bytes = site->counters.live_bytes;
	bool		lasting = plh_lifetime_is_lasting(site->key.lifetime);
	const PlhFamilyAccount *family;

	if (site->counters.last_at > header->census_at)
		return bytes;
	if (site->key.lifetime == PLH_LIFETIME_PROCESS)
		return header->malloc_bytes < 0 ? bytes :
			Min(bytes, Max(0, header->malloc_bytes - header->context_bytes));
	family = plh_largest_site_account(account, plh_largest_site_family(image, site), lasting);
	if (family != NULL)
		return Min(bytes, family->bytes);
	return Min(bytes, lasting ? Max(0, header->context_bytes - header->passing_bytes) :
			   header->passing_bytes);
}
