/*
 * proof_groups.c
 *	  Adds chunks up by call site, and by what they look like, with who holds most of each.
 */
#include "postgres.h"

#include "nodes/nodes.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "heap/heap.h"
#include "profile/profile_file.h"
#include "profile/proof_image.h"
#include "proof/proof_groups.h"
#include "proof/proof_texts.h"
#include "proof/proof_words.h"
#include "sampler/lifetime.h"
#include "sampler/live_samples.h"
#include "sampler/malloc_samples.h"

#define MAX_GROUPS 32768
#define GROUP_BUCKETS 131072
#define MAX_HOLDINGS 131072
#define HOLDING_BUCKETS 524288

/* Chunks up to this size are told apart by it, larger ones by the power of two. */
#define EXACT_BYTES 1024

/* A kind of which nothing is lost is worth a line from here on. */
#define HELD_BYTES 65536

/* What a chunk may be that is sampled: one bit for each hash of an address. */
#define FILTER_BITS (1 << 23)

typedef struct Group
{
	PlhProofGroup told;
	Size		size;			/* of chunks of a kind */
	PlhHeapLook look;
	uint32		number;			/* in the order in which they were found */
	uint32		largest;		/* holding, plus one */
} Group;

/* A sample of a chunk, or of a block of malloc. */
typedef struct Sampled
{
	uintptr_t	address;
	Size		size;			/* as requested */
	PlhDraw		draw;
	uint32		site;
}			Sampled;

/* What one root holds of a group. */
typedef struct Holding
{
	uint32		group;
	uint32		root;
	int64		bytes;
	uintptr_t	first;			/* of one chunk: that the root points to */
	uintptr_t	from;			/* that points to it; 0: the root does */
} Holding;

struct PlhProofGroups
{
	PlhHeapContexts *contexts;
	PlhHeapTags tags;
	PlhHeapLasting lasting;
	PlhProofTexts texts;
	Group	   *list;
	uint32		count;
	uint32	   *buckets;		/* of groups of a kind */
	uint32	   *site_buckets;
	Holding    *holdings;
	uint32		holding_count;
	uint32	   *holding_buckets;
	uint8	   *filter;
	uint32	   *names;			/* of contexts, by number: texts */
	uint8	   *lifetimes;
	uint8	   *resettable;		/* 0: not known yet, 1: no, 2: yes */
	PlhProof	sums;
};

static inline uint64
mixed(uint64 value)
{
	value *= UINT64CONST(0x9E3779B97F4A7C15);
	return value ^ value >> 29;
}

/* The bucket of a key in which it is, or may be. */
typedef bool (*IsKey) (const PlhProofGroups *groups, uint32 number, const void *key);

static uint32 *
find_bucket(const PlhProofGroups *groups, uint32 *buckets, uint32 count, uint64 hash,
			IsKey is_key, const void *key)
{
	for (uint32 i = mixed(hash) >> 20;; i++)
	{
		uint32	   *bucket = &buckets[i % count];

		if (*bucket == 0 || is_key(groups, *bucket - 1, key))
			return bucket;
	}
}

static bool
is_site(const PlhProofGroups *groups, uint32 number, const void *key)
{
	return groups->list[number].told.site == *(const uint32 *) key;
}

/* The group of a site, which is new only while the profile is mapped; NULL: there is none. */
static Group *
group_of_site(PlhProofGroups *groups, uint32 site, bool may_be_new)
{
	uint32	   *bucket = find_bucket(groups, groups->site_buckets, GROUP_BUCKETS, site,
									 is_site, &site);

	if (*bucket == 0)
	{
		const PlhSiteRecord *record = (const PlhSiteRecord *) ((char *) plh_profile + site);
		const PlhStringRecord *name;
		Group	   *group;

		if (!may_be_new || groups->count == MAX_GROUPS / 2)
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

static Sampled
sampled_chunk(const PlhLiveSample *sample)
{
	return (Sampled)
	{
		(uintptr_t) sample->entry.pointer, sample->size, sample->draw, sample->entry.user
	};
}

static Sampled
sampled_block(uintptr_t block, const PlhMallocSampled *sample)
{
	return (Sampled)
	{
		block, sample->size, sample->draw, sample->site
	};
}

/* The next sample, of a chunk or of a block of malloc, from position 0 on. */
static bool
next_sample(uint32 *position, Sampled * sampled)
{
	while (*position < plh_live_samples_end())
	{
		const PlhLiveSample *sample = plh_live_samples_at((*position)++);

		if (sample->entry.pointer != NULL)
		{
			*sampled = sampled_chunk(sample);
			return true;
		}
	}
	while (*position - plh_live_samples_end() < plh_malloc_samples_last())
	{
		uint32		number = ++(*position) - plh_live_samples_end();
		uintptr_t	block;
		const PlhMallocSampled *sample = plh_malloc_samples_at(number, &block);

		/* the lowest bit is that of one which is being freed */
		if (block != 0 && block % 2 == 0)
		{
			*sampled = sampled_block(block, sample);
			return true;
		}
	}
	return false;
}

static void
note_sample(PlhProofGroups *groups, const Sampled * sampled)
{
	uint32		bit = plh_pointer_hash((void *) sampled->address) >> 41;

	if (group_of_site(groups, sampled->site, true) != NULL)
		groups->filter[bit / 8] |= 1 << bit % 8;
}

static uint32
end_of_tags(void)
{
	return T_AllocSetContext;
}

PlhProofGroups *
plh_proof_groups_make(void)
{
	PlhProofGroups *groups = plh_heap_reserve(sizeof(PlhProofGroups));
	uint32		position = 0;
	Sampled		sampled;

	if (groups == NULL || !plh_proof_texts_start(&groups->texts))
		return NULL;
	groups->list = plh_heap_reserve(MAX_GROUPS * sizeof(Group));
	groups->buckets = plh_heap_reserve(GROUP_BUCKETS * sizeof(uint32));
	groups->site_buckets = plh_heap_reserve(GROUP_BUCKETS * sizeof(uint32));
	groups->holdings = plh_heap_reserve(MAX_HOLDINGS * sizeof(Holding));
	groups->holding_buckets = plh_heap_reserve(HOLDING_BUCKETS * sizeof(uint32));
	groups->filter = plh_heap_reserve(FILTER_BITS / 8);
	if (groups->list == NULL || groups->buckets == NULL || groups->site_buckets == NULL ||
		groups->holdings == NULL || groups->holding_buckets == NULL || groups->filter == NULL)
		return NULL;
	groups->tags = (PlhHeapTags)
	{
		{
			T_List, T_IntList, T_OidList, PLH_XID_LIST_TAG
		}, end_of_tags()
	};
	while (next_sample(&position, &sampled))
		note_sample(groups, &sampled);
	return groups;
}

void
plh_proof_groups_start(PlhProofGroups *groups, PlhHeapContexts *contexts)
{
	groups->contexts = contexts;
	groups->lasting = (PlhHeapLasting)
	{
		{
			(uintptr_t) TopMemoryContext, (uintptr_t) CacheMemoryContext
		}
	};
	groups->names = plh_heap_reserve(contexts->count * sizeof(uint32));
	groups->lifetimes = plh_heap_reserve(contexts->count);
	groups->resettable = plh_heap_reserve(contexts->count);
}

static PlhLifetime
lifetime_of(const PlhHeapContext *context)
{
	return context->flags & PLH_HEAP_MALLOC ? PLH_LIFETIME_PROCESS :
		plh_lifetime_of((MemoryContext) context->address);
}

/* Names are kept with one added, as 0 stands for one that was not looked at. */
static uint32
name_of(PlhProofGroups *groups, uint32 context)
{
	if (groups->names[context] == 0)
	{
		char		name[PLH_CONTEXT_NAME_MAX + 1];

		plh_proof_words_context(groups->contexts, context, name, sizeof(name));
		groups->names[context] = plh_proof_texts_add(&groups->texts, name) + 1;
		groups->lifetimes[context] = lifetime_of(&groups->contexts->list[context]);
	}
	return groups->names[context] - 1;
}

static bool
is_resettable(PlhProofGroups *groups, uint32 context)
{
	if (groups->resettable[context] == 0)
		groups->resettable[context] = 1 + plh_heap_known_is_resettable(groups->contexts,
																	   &groups->lasting, context);
	return groups->resettable[context] == 2;
}

/* Groups of one kind have the same of these. */
typedef struct KindKey
{
	uint32		name;
	uint32		lifetime;
	Size		size;
	PlhHeapLook look;
} KindKey;

static bool
is_kind(const PlhProofGroups *groups, uint32 number, const void *key)
{
	const KindKey *kind = key;
	const Group *group = &groups->list[number];

	return group->told.context_name == kind->name && group->size == kind->size &&
		group->told.lifetime == kind->lifetime && group->look.kind == kind->look.kind &&
		group->look.tag == kind->look.tag;
}

static Size
size_class(Size bytes)
{
	Size		size = EXACT_BYTES;

	if (bytes <= EXACT_BYTES)
		return bytes;
	while (size < bytes && size < MaxAllocHugeSize / 2)
		size *= 2;
	return size;
}

/* The group of chunks that look like this one; NULL: there is no room. */
static Group *
group_of_kind(PlhProofGroups *groups, const PlhHeapChunk *chunk)
{
	KindKey		key = {.look = plh_heap_kinds_look(groups->contexts, &groups->tags, chunk)};
	uint32	   *bucket;
	Group	   *group;

	key.name = name_of(groups, chunk->block->context);
	key.lifetime = groups->lifetimes[chunk->block->context];
	key.size = size_class(chunk->end - chunk->start);
	if (key.look.kind != PLH_HEAP_CHUNK_NODE && key.look.kind != PLH_HEAP_CHUNK_LIST)
		key.look.tag = 0;
	bucket = find_bucket(groups, groups->buckets, GROUP_BUCKETS,
						 mixed(key.name + key.size * 31) + key.look.kind * 7 + key.look.tag,
						 is_kind, &key);
	if (*bucket == 0)
	{
		if (groups->count == MAX_GROUPS)
			return NULL;
		group = &groups->list[groups->count++];
		group->told.context_name = key.name;
		group->told.lifetime = key.lifetime;
		group->size = key.size;
		group->look = key.look;
		*bucket = groups->count;
	}
	return &groups->list[*bucket - 1];
}

static bool
is_holding(const PlhProofGroups *groups, uint32 number, const void *key)
{
	const Holding *wanted = key;

	return groups->holdings[number].group == wanted->group &&
		groups->holdings[number].root == wanted->root;
}

/* That root holds so much of the group, too.  Without room it is left out. */
static void
add_holding(PlhProofGroups *groups, Group *group, const PlhHeapFound *found, int64 bytes)
{
	Holding		key = {group - groups->list, found->root};
	uint32	   *bucket = find_bucket(groups, groups->holding_buckets, HOLDING_BUCKETS,
									 mixed(key.group) + key.root, is_holding, &key);
	Holding    *holding;

	if (*bucket == 0)
	{
		if (groups->holding_count == MAX_HOLDINGS)
			return;
		key.first = found->first;
		key.from = found->from;
		groups->holdings[groups->holding_count++] = key;
		*bucket = groups->holding_count;
	}
	holding = &groups->holdings[*bucket - 1];
	holding->bytes += bytes;
	if (group->largest == 0 || holding->bytes > groups->holdings[group->largest - 1].bytes)
		group->largest = *bucket;
}

static bool
find_sample(uintptr_t address, Sampled * sampled)
{
	const PlhLiveSample *chunk = plh_live_samples_find((void *) address);
	const PlhMallocSampled *block = chunk != NULL ? NULL :
		plh_malloc_samples_find((void *) address);

	if (chunk != NULL)
		*sampled = sampled_chunk(chunk);
	else if (block != NULL)
		*sampled = sampled_block(address, block);
	return chunk != NULL || block != NULL;
}

/* A chunk that is held may be a sample: what it stands for is held by the same root. */
static void
add_sampled(PlhProofGroups *groups, const PlhHeapFound *found)
{
	uint32		bit = plh_pointer_hash((void *) found->chunk->start) >> 41;
	Sampled		sampled;
	Group	   *group;

	if (!(groups->filter[bit / 8] >> bit % 8 & 1) ||
		!find_sample(found->chunk->start, &sampled))
		return;
	group = group_of_site(groups, sampled.site, false);
	if (group != NULL)
		add_holding(groups, group, found, (int64) sampled.size *
					plh_sampling_value(sampled.size, sampled.draw).weight);
}

void
plh_proof_groups_found(void *arg, const PlhHeapFound *found)
{
	PlhProofGroups *groups = arg;
	int64		bytes = found->chunk->end - found->chunk->start;
	Group	   *group = group_of_kind(groups, found->chunk);

	groups->sums.chunks++;
	groups->sums.bytes += bytes;
	if (group != NULL)
	{
		group->told.chunks++;
		group->told.bytes += bytes;
		add_holding(groups, group, found, bytes);
	}
	add_sampled(groups, found);
}

static void
show_content(PlhProofGroups *groups, Group *group, const PlhHeapChunk *chunk)
{
	PlhHeapLook look = plh_heap_kinds_look(groups->contexts, &groups->tags, chunk);

	group->look.text = look.text;
	group->look.text_bytes = look.text_bytes;
}

static void
add_lost(PlhProofGroups *groups, const PlhHeapChunk *chunk)
{
	int64		bytes = chunk->end - chunk->start;
	bool		resettable = is_resettable(groups, chunk->block->context);
	Group	   *group = group_of_kind(groups, chunk);

	groups->sums.chunks++;
	groups->sums.bytes += bytes;
	groups->sums.lost_chunks++;
	groups->sums.lost_bytes += bytes;
	groups->sums.resettable_bytes += resettable ? bytes : 0;
	if (group == NULL)
		return;

	/* what a chunk says that is lost tells more than what others do */
	if (group->told.lost_chunks == 0)
		show_content(groups, group, chunk);
	group->told.chunks++;
	group->told.bytes += bytes;
	group->told.lost_chunks++;
	group->told.lost_bytes += bytes;
	group->told.resettable_chunks += resettable;
	group->told.resettable_bytes += resettable ? bytes : 0;
}

static void
add_all_lost(PlhProofGroups *groups)
{
	const PlhHeapIndex *index = groups->contexts->index;

	for (uint32 i = 0; i < index->count; i++)
	{
		PlhHeapChunk chunk;

		for (uintptr_t at = index->blocks[i].start;
			 plh_heap_index_next(index, &index->blocks[i], at, &chunk); at = chunk.start + 8)
			if (!plh_heap_index_is_found(index, &chunk))
				add_lost(groups, &chunk);
	}
}

/* What a sample stands for is lost if its chunk is. */
static void
add_sample(PlhProofGroups *groups, Group *group, const Sampled * sample)
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
	if (is_resettable(groups, block->context))
	{
		group->told.resettable_chunks += value.weight;
		group->told.resettable_bytes += bytes;
	}
}

static void
add_samples(PlhProofGroups *groups)
{
	uint32		position = 0;
	Sampled		sampled;

	while (next_sample(&position, &sampled))
	{
		Group	   *group = group_of_site(groups, sampled.site, false);

		if (group != NULL)
			add_sample(groups, group, &sampled);
	}
}

static void
count_closed(PlhProofGroups *groups)
{
	for (uint32 i = 0; i < groups->contexts->count; i++)
	{
		const PlhHeapContext *context = &groups->contexts->list[i];

		if (context->flags & PLH_HEAP_MALLOC)
			continue;
		if (context->flags & PLH_HEAP_CLOSED)
		{
			groups->sums.closed_contexts++;
			groups->sums.closed_bytes += context->bytes;
		}
		else
			groups->sums.contexts++;
	}
}

static PlhProofWay
way_of(const PlhProofGroups *groups, const PlhHeapRoots *roots, const Holding *holding)
{
	return (PlhProofWay)
	{
		groups->contexts, &groups->tags, plh_heap_roots_at(roots, holding->root),
			holding->first, holding->from
	};
}

static void
tell_group(PlhProofGroups *groups, const PlhHeapRoots *roots, Group *group)
{
	if (group->told.site == 0)
	{
		group->told.what = plh_proof_words_kind(&groups->texts, group->size, &group->look);
		group->told.what_of_user = plh_proof_words_content(&groups->texts, &group->look);
	}
	if (group->largest != 0)
	{
		const Holding *holding = &groups->holdings[group->largest - 1];
		PlhProofWay way = way_of(groups, roots, holding);

		group->told.holder = plh_proof_words_holder(&groups->texts, &way);
		group->told.path = plh_proof_words_path(&groups->texts, &way);
		group->told.holder_bytes = Min(holding->bytes, group->told.bytes - group->told.lost_bytes);
	}
}

/* Sites first, in the order of their records; of kinds the largest loss, then the largest. */
static int
compare_groups(const PlhProofGroup *a, const PlhProofGroup *b)
{
	if (a->site != 0 || b->site != 0)
		return a->site == 0 ? 1 : b->site == 0 ? -1 : a->site < b->site ? -1 : 1;
	if (a->lost_bytes != b->lost_bytes)
		return a->lost_bytes > b->lost_bytes ? -1 : 1;
	return a->bytes == b->bytes ? 0 : a->bytes > b->bytes ? -1 : 1;
}

#define ST_SORT sort_groups
#define ST_ELEMENT_TYPE Group
#define ST_COMPARE(a, b) compare_groups(&(a)->told, &(b)->told)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_holdings
#define ST_ELEMENT_TYPE Holding
#define ST_COMPARE(a, b) ((a)->bytes == (b)->bytes ? 0 : (a)->bytes > (b)->bytes ? -1 : 1)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Those that were too small to be told have a place of 0 in "places". */
static void
tell_groups(PlhProofGroups *groups, const PlhHeapRoots *roots, PlhProof *proof, uint32 *places)
{
	for (uint32 i = 0; i < groups->count; i++)
		groups->list[i].number = i;
	sort_groups(groups->list, groups->count);
	for (uint32 i = 0; i < groups->count; i++)
	{
		Group	   *group = &groups->list[i];

		if (group->told.site == 0 && group->told.lost_chunks == 0 &&
			group->told.bytes < HELD_BYTES)
			continue;
		if (proof->group_count == PLH_PROOF_GROUPS)
		{
			proof->left_out_groups++;
			continue;
		}
		tell_group(groups, roots, group);
		proof->site_count += group->told.site != 0;
		proof->groups[proof->group_count++] = group->told;
		places[group->number] = proof->group_count;
	}
}

/*
 * The largest holdings, of kinds, whose chunks are counted: those of sites are of the same memory.
 * Groups know their largest holding by its number, and so are told before these are sorted.
 */
static void
tell_holdings(PlhProofGroups *groups, const PlhHeapRoots *roots, PlhProof *proof,
			  const uint32 *places)
{
	PlhProofHolding *told = (PlhProofHolding *) plh_proof_image_holdings(proof);

	sort_holdings(groups->holdings, groups->holding_count);
	for (uint32 i = 0; i < groups->holding_count && proof->holding_count < PLH_PROOF_HOLDINGS; i++)
	{
		const Holding *holding = &groups->holdings[i];
		uint32		place = places[holding->group];
		PlhProofWay way;

		if (place == 0 || proof->groups[place - 1].site != 0)
			continue;
		way = way_of(groups, roots, holding);
		told[proof->holding_count++] = (PlhProofHolding)
		{
			plh_proof_words_holder(&groups->texts, &way), place - 1, holding->bytes
		};
	}
}

static void
tell_texts(const PlhProofGroups *groups, PlhProof *proof)
{
	memcpy((PlhProofHolding *) plh_proof_image_holdings(proof) + proof->holding_count,
		   groups->texts.texts, groups->texts.bytes);
	proof->text_bytes = groups->texts.bytes;
}

PlhProof *
plh_proof_groups_finish(PlhProofGroups *groups, const PlhHeapRoots *roots, Size *bytes)
{
	PlhProof   *proof = plh_heap_reserve(PLH_PROOF_MOST_BYTES);
	uint32	   *places = plh_heap_reserve(MAX_GROUPS * sizeof(uint32));

	if (proof == NULL || places == NULL)
		return NULL;
	add_all_lost(groups);
	add_samples(groups);
	count_closed(groups);
	*proof = groups->sums;
	tell_groups(groups, roots, proof, places);
	tell_holdings(groups, roots, proof, places);
	tell_texts(groups, proof);
	*bytes = plh_proof_image_bytes(proof);
	return proof;
}
