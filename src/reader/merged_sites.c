/*
 * merged_sites.c
 *	  The sites of a merged profile, each of which several processes may share.
 */
#include "postgres.h"

#include "base/hash_seed.h"
#include "reader/collections.h"
#include "reader/merged_sites.h"

/* Sites and owners that there is room for at first. */
#define FIRST_ROOM 256

/*
 * Sites with other keys or owners are others.  All bytes are compared and hashed: the
 * seed, which is the same in all of a table, makes the hash one that nobody can guess.
 */
typedef struct SiteIdentity
{
	uint64		seed;
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
	uint64		seed;			/* of its identities */
	PlhSiteOwner **owners;
	int			owner_count;
	int			owner_room;
	PlhMergedSite *sites;
	uint32		count;
	int			room;
};

PlhMergedSites *
plh_merged_sites_create(PlhProfileBuilder *profile)
{
	PlhMergedSites *sites = palloc0(sizeof(PlhMergedSites));

	sites->profile = profile;
	sites->seed = plh_hash_seed_draw();
	sites->memory = CurrentMemoryContext;
	sites->entries = plh_hash_table("pg_leakhunt merged sites",
									sizeof(SiteIdentity), sizeof(SiteEntry));
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
	/* a linear search will do: this runs once per process */
	for (int i = 0; i < sites->owner_count; i++)
	{
		if (plh_site_owner_is_same(sites->owners[i], owner))
			return sites->owners[i];
	}
	sites->owners = plh_array_grow(sites->owners, sites->owner_count,
								   &sites->owner_room, sizeof(PlhSiteOwner *));
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
	sites->sites = plh_array_grow(sites->sites, sites->count, &sites->room,
								  sizeof(PlhMergedSite));
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
	identity.seed = sites->seed;
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
