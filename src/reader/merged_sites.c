/*
 * merged_sites.c
 *	  The sites of a merged profile, each of which several processes may share.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "reader/merged_sites.h"

/* Sites and owners that there is room for at first. */
#define FIRST_ROOM 256

/* Sites with other keys or owners are others.  All bytes are compared. */
typedef struct SiteIdentity
{
	PlhSiteKey	key;
	const PlhSiteOwner *owner;
} SiteIdentity;

/* Where a site is found. */
typedef struct SiteEntry
{
	SiteIdentity identity;		/* key of the table */
	uint32		number;
} SiteEntry;

struct PlhMergedSites
{
	PlhProfileBuilder *profile;
	MemoryContext memory;		/* of all that lasts */
	HTAB	   *entries;
	PlhSiteOwner **owners;
	int			owner_count;
	int			owner_room;
	PlhMergedSite *sites;
	uint32		count;
	uint32		room;
};

PlhMergedSites *
plh_merged_sites_create(PlhProfileBuilder *profile)
{
	PlhMergedSites *sites = palloc0(sizeof(PlhMergedSites));
	HASHCTL		control = {
		.keysize = sizeof(SiteIdentity),
		.entrysize = sizeof(SiteEntry),
		.hcxt = CurrentMemoryContext
	};

	sites->profile = profile;
	sites->memory = CurrentMemoryContext;
	sites->entries = hash_create("pg_leakhunt merged sites", 1024, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	sites->owner_room = FIRST_ROOM;
	sites->owners = palloc(sizeof(PlhSiteOwner *) * sites->owner_room);
	sites->room = FIRST_ROOM;
	sites->sites = palloc(sizeof(PlhMergedSite) * sites->room);
	return sites;
}

/* Copy a text, which may be NULL, into memory that lasts. */
static const char *
copy_text(const PlhMergedSites *sites, const char *text)
{
	return text == NULL ? NULL : MemoryContextStrdup(sites->memory, text);
}

/* Copy an owner into memory that lasts. */
static PlhSiteOwner *
copy_owner(const PlhMergedSites *sites, const PlhSiteOwner *owner)
{
	PlhSiteOwner *copy = MemoryContextAlloc(sites->memory, sizeof(*copy));

	copy->pid = owner->pid;
	copy->backend_type = copy_text(sites, owner->backend_type);
	copy->database = copy_text(sites, owner->database);
	copy->user = copy_text(sites, owner->user);
	copy->application = copy_text(sites, owner->application);
	return copy;
}

const PlhSiteOwner *
plh_merged_sites_owner(PlhMergedSites *sites, const PlhSiteOwner *owner)
{
	/* this is asked once per process: there are never so many */
	for (int i = 0; i < sites->owner_count; i++)
	{
		if (plh_site_owner_is_same(sites->owners[i], owner))
			return sites->owners[i];
	}
	if (sites->owner_count == sites->owner_room)
	{
		sites->owner_room *= 2;
		sites->owners = repalloc_huge(sites->owners,
									  sizeof(PlhSiteOwner *) *
									  sites->owner_room);
	}
	sites->owners[sites->owner_count] = copy_owner(sites, owner);
	return sites->owners[sites->owner_count++];
}

/* Add a site and its record, with sums of 0. */
static void
add_site(PlhMergedSites *sites, const SiteIdentity *identity)
{
	PlhMergedSite *site;
	uint32		offset = plh_profile_builder_add(sites->profile,
												 PLH_RECORD_SITE,
												 sizeof(PlhSiteRecord));
	PlhSiteRecord *record = plh_profile_builder_record(sites->profile, offset);

	record->key = identity->key;
	if (sites->count == sites->room)
	{
		sites->room *= 2;
		sites->sites = repalloc_huge(sites->sites,
									 sizeof(PlhMergedSite) * sites->room);
	}
	site = &sites->sites[sites->count++];
	memset(site, 0, sizeof(*site));
	site->offset = offset;
	site->owner = identity->owner;
}

PlhMergedSite *
plh_merged_sites_find(PlhMergedSites *sites, const PlhSiteKey *key,
					  const PlhSiteOwner *owner)
{
	SiteIdentity identity;
	SiteEntry  *entry;
	bool		found;

	memset(&identity, 0, sizeof(identity));
	identity.key = *key;
	identity.owner = owner;
	entry = hash_search(sites->entries, &identity, HASH_ENTER, &found);
	if (!found)
	{
		entry->number = sites->count;
		add_site(sites, &identity);
	}
	return &sites->sites[entry->number];
}

const PlhMergedSite *
plh_merged_sites_all(const PlhMergedSites *sites, uint32 *count)
{
	*count = sites->count;
	return sites->sites;
}
