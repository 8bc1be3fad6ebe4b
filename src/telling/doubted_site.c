/*
 * doubted_site.c
 *	  The site that holds most of a process without findings, and what is told of it.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/site_suspects.h"
#include "judge/suspect.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/words.h"
#include "telling/doubted_site.h"

/* Is the site of that kind?  What malloc has given out stays in the session, too. */
static bool
is_of_kind(const PlhSiteRecord *site, PlhDoubtedKind kind)
{
	if (kind == PLH_DOUBTED_BY_MALLOC)
		return site->key.lifetime == PLH_LIFETIME_PROCESS;
	return plh_lifetime_is_lasting(site->key.lifetime) == (kind == PLH_DOUBTED_IN_SESSION);
}

const PlhSiteRecord *
plh_doubted_site_largest(const PlhProfileImage *image, PlhDoubtedKind kind)
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

int64
plh_doubted_site_passing(const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	int64		bytes = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		if (is_of_kind(site, PLH_DOUBTED_IN_STATEMENT))
			bytes += Max(0, Min(site->counters.live_bytes, PG_INT64_MAX / 65536));
	return bytes;
}

const PlhFamilyAccount *
plh_doubted_site_account(const PlhAccount *account, const PlhFamily *family, bool lasting)
{
	for (int i = 0; i < account->family_count; i++)
		if (family != NULL && account->families[i].family == family &&
			account->families[i].lasting == lasting)
			return &account->families[i];
	return NULL;
}

int64
plh_doubted_site_bytes(const PlhProfileImage *image, const PlhSiteRecord *site,
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
	family = plh_doubted_site_account(account, plh_site_suspects_family(image, site), lasting);
	if (family != NULL)
		return Min(bytes, family->bytes);
	return Min(bytes, lasting ? Max(0, header->context_bytes - header->passing_bytes) :
			   header->passing_bytes);
}

void
plh_doubted_site_fill(PlhFields *fields, const PlhProfileImage *image,
					  const PlhSiteRecord *site, const PlhAccount *account,
					  PlhStackTexts *stacks, const char **nameless)
{
	PlhSiteFacts facts;
	PlhListedSite listed;
	int64		bytes = plh_doubted_site_bytes(image, site, account);

	plh_site_facts_resolve(&facts, image, site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, stacks);
	if (*nameless == NULL)
		*nameless = plh_blamed_code_nameless(&listed.stack);
	fields->bytes = plh_words_estimate(bytes, Min(facts.error_bytes, bytes));
	fields->site = plh_blamed_code_site(&listed.stack);
	fields->context = listed.context_name;
}

bool
plh_doubted_site_is_noise(const PlhSiteRecord *site)
{
	const PlhCounters *counters = &site->counters;

	return plh_sampling_error_bytes(counters->live_variance, counters->live_bytes,
									counters->live_samples) > counters->live_bytes;
}

bool
plh_doubted_site_is_uncertain(const PlhSiteRecord *site)
{
	const PlhCounters *counters = &site->counters;

	return plh_sampling_error_bytes(counters->live_variance, counters->live_bytes,
									counters->live_samples) >
		PLH_SUSPECT_ERROR_PART * (double) counters->live_bytes;
}
