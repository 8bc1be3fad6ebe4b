/*
 * proof_sites.c
 *	  Adds chunks up by the call sites of their samples, beside what they look like.
 */
#include "postgres.h"

#include "nodes/nodes.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "heap/heap.h"
#include "profile/profile_file.h"
#include "proof/proof_buckets.h"
#include "proof/proof_samples.h"
#include "proof/proof_sites.h"
#include "sampler/lifetime.h"

#define SITE_BUCKETS 131072

/* PlhProofIsKey */
static bool
is_site(const void *list, uint32 number, const void *key)
{
	return ((const PlhProofSum *) list)[number].told.site == *(const uint32 *) key;
}

/* The group of a site, which is new only while the profile is mapped; NULL: there is none. */
static PlhProofSum *
group_of_site(PlhProofSites *sites, uint32 site, bool may_be_new)
{
	PlhProofGroups *groups = &sites->groups;
	uint32	   *bucket = plh_proof_bucket(sites->buckets, SITE_BUCKETS, site,
										  is_site, groups->list, &site);

	if (*bucket == 0)
	{
		const PlhSiteRecord *record = (const PlhSiteRecord *) ((char *) plh_profile + site);
		const PlhStringRecord *name;
		PlhProofSum *group;

		if (!may_be_new || groups->count == PLH_PROOF_MOST_GROUPS / 2)
			return NULL;
		name = (const PlhStringRecord *) ((char *) plh_profile + record->key.context_name);
		group = &groups->list[groups->count++];
		group->told.site = site;
		group->told.born = record->record.born;
		group->told.lifetime = record->key.lifetime;
		group->told.context_name = record->key.context_name == 0 ? 0 :
			plh_proof_texts_add(&groups->texts, name->text);
		*bucket = groups->count;
	}
	return &groups->list[*bucket - 1];
}

PlhProofSites *
plh_proof_sites_make(void)
{
	PlhProofSites *sites = plh_heap_reserve(sizeof(PlhProofSites));
	uint32		position = 0;
	PlhProofSample sample;

	if (sites == NULL || !plh_proof_groups_make(&sites->groups) || !plh_proof_samples_start())
		return NULL;
	sites->buckets = plh_heap_reserve(SITE_BUCKETS * sizeof(uint32));
	if (sites->buckets == NULL)
		return NULL;
	while (plh_proof_samples_next(&position, &sample))
		if (group_of_site(sites, sample.site, true) != NULL)
			plh_proof_samples_note(&sample);
	return sites;
}

static PlhLifetime
lifetime_of(const PlhHeapContexts *contexts, uint32 number)
{
	return plh_lifetime_of((MemoryContext) contexts->list[number].address);
}

bool
plh_proof_sites_start(PlhProofSites *sites, PlhHeapContexts *contexts)
{
	const PlhProofServer own = {
		.tags = {{T_List, T_IntList, T_OidList, PLH_XID_LIST_TAG}, T_AllocSetContext},
		.lasting = {{(uintptr_t) TopMemoryContext, (uintptr_t) CacheMemoryContext}},
		.lifetime_of = lifetime_of
	};

	return plh_proof_groups_start(&sites->groups, contexts, &own);
}

/* A chunk that is held may be a sample: what it stands for is held by the same root. */
static void
add_held_sample(PlhProofSites *sites, const PlhHeapFound *found)
{
	PlhProofSample sample;
	PlhProofSum *group;

	if (!plh_proof_samples_find(found->chunk->start, &sample))
		return;
	group = group_of_site(sites, sample.site, false);
	if (group != NULL)
		plh_proof_groups_add_held(&sites->groups, group, found, (int64) sample.size *
								  plh_sampling_value(sample.size, sample.draw).weight);
}

void
plh_proof_sites_found(void *arg, const PlhHeapFound *found)
{
	PlhProofSites *sites = arg;

	plh_proof_groups_found(&sites->groups, found);
	add_held_sample(sites, found);
}

/* What a sample stands for is lost if its chunk is. */
static void
add_sample(PlhProofGroups *groups, PlhProofSum *group, const PlhProofSample *sample)
{
	uintptr_t	address = sample->address;
	const PlhHeapIndex *index = groups->contexts->index;
	const PlhHeapBlock *block = plh_heap_index_block(index, address);
	PlhSampleValue value = plh_sampling_value(sample->size, sample->draw);
	int64		bytes = (int64) sample->size * value.weight;
	PlhHeapChunk chunk;

	group->told.chunks += value.weight;
	group->told.bytes += bytes;
	group->told.samples++;

	/* of a context that is closed, all is held */
	if (block == NULL || !plh_heap_index_chunk(index, block, address, &chunk) ||
		plh_heap_index_is_found(index, &chunk))
		return;
	group->told.lost_chunks += value.weight;
	group->told.lost_bytes += bytes;
	group->told.lost_samples++;
	group->told.lost_variance += value.variance;
	if (plh_proof_groups_is_resettable(groups, block->context))
	{
		group->told.resettable_chunks += value.weight;
		group->told.resettable_bytes += bytes;
	}
}

static void
add_samples(PlhProofSites *sites)
{
	uint32		position = 0;
	PlhProofSample sample;

	while (plh_proof_samples_next(&position, &sample))
	{
		PlhProofSum *group = group_of_site(sites, sample.site, false);

		if (group != NULL)
			add_sample(&sites->groups, group, &sample);
	}
}

void
plh_proof_sites_finish(PlhProofSites *sites)
{
	plh_proof_groups_finish(&sites->groups);
	add_samples(sites);
}
