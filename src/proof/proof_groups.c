/*
 * proof_groups.c
 *	  Adds chunks up by what they look like, with who holds most of each.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "heap/heap.h"
#include "proof/proof_buckets.h"
#include "proof/proof_groups.h"
#include "proof/proof_words.h"

#define GROUP_BUCKETS 131072

/* Chunks up to this size are told apart by it, larger ones by the power of two. */
#define EXACT_BYTES 1024

bool
plh_proof_groups_make(PlhProofGroups *groups)
{
	groups->list = plh_heap_reserve(PLH_PROOF_MOST_GROUPS * sizeof(PlhProofSum));
	groups->buckets = plh_heap_reserve(GROUP_BUCKETS * sizeof(uint32));
	return groups->list != NULL && groups->buckets != NULL &&
		plh_proof_texts_start(&groups->texts) && plh_proof_holdings_start(&groups->holdings);
}

bool
plh_proof_groups_start(PlhProofGroups *groups, PlhHeapContexts *contexts,
					   const PlhProofServer *server)
{
	groups->contexts = contexts;
	groups->server = *server;
	groups->names = plh_heap_reserve(contexts->count * sizeof(uint32));
	groups->chunk_bytes = plh_heap_reserve(contexts->count * sizeof(int64));
	groups->lifetimes = plh_heap_reserve(contexts->count);
	groups->resettable = plh_heap_reserve(contexts->count);
	return groups->names != NULL && groups->chunk_bytes != NULL && groups->lifetimes != NULL &&
		groups->resettable != NULL;
}

static PlhLifetime
lifetime_of(const PlhProofGroups *groups, uint32 context)
{
	return groups->contexts->list[context].flags & PLH_HEAP_MALLOC ? PLH_LIFETIME_PROCESS :
		groups->server.lifetime_of(groups->contexts, context);
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
		groups->lifetimes[context] = lifetime_of(groups, context);
	}
	return groups->names[context] - 1;
}

bool
plh_proof_groups_is_resettable(PlhProofGroups *groups, uint32 context)
{
	const PlhHeapLasting *lasting = &groups->server.lasting;

	if (groups->resettable[context] == 0)
		groups->resettable[context] = 1 + plh_heap_known_is_resettable(groups->contexts, lasting,
																	   context);
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

/* PlhProofIsKey */
static bool
is_kind(const void *list, uint32 number, const void *key)
{
	const KindKey *kind = key;
	const PlhProofSum *group = (const PlhProofSum *) list + number;

	return group->told.context_name == kind->name && group->size == kind->size &&
		group->told.lifetime == kind->lifetime && group->look.kind == kind->look.kind &&
		group->look.tag == kind->look.tag;
}

static uint64
hash_of(const KindKey *kind)
{
	return plh_proof_mixed(kind->name + kind->size * 31) + kind->look.kind * 7 + kind->look.tag;
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

/* The group of chunks of that size, in contexts like that one, that look so; NULL: no room. */
static PlhProofSum *
group_of_look(PlhProofGroups *groups, uint32 context, Size size, PlhHeapLook look)
{
	KindKey		key = {
		.name = name_of(groups, context),.lifetime = groups->lifetimes[context],.size = size,
		.look = look
	};
	uint32	   *bucket;
	PlhProofSum *group;

	if (look.kind != PLH_HEAP_CHUNK_NODE && look.kind != PLH_HEAP_CHUNK_LIST)
		key.look.tag = 0;
	bucket = plh_proof_bucket(groups->buckets, GROUP_BUCKETS, hash_of(&key), is_kind,
							  groups->list, &key);
	if (*bucket == 0)
	{
		if (groups->count == PLH_PROOF_MOST_GROUPS)
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

static PlhProofSum *
group_of_chunk(PlhProofGroups *groups, const PlhHeapChunk *chunk)
{
	return group_of_look(groups, chunk->block->context, size_class(chunk->end - chunk->start),
						 plh_heap_kinds_look(groups->contexts, &groups->server.tags, chunk));
}

void
plh_proof_groups_add_held(PlhProofGroups *groups, PlhProofSum *group, const PlhHeapFound *found,
						  int64 bytes)
{
	PlhProofHeld *held = plh_proof_holdings_add(&groups->holdings, group - groups->list, found,
												bytes);

	if (held != NULL && (group->largest == NULL || held->bytes > group->largest->bytes))
		group->largest = held;
}

void
plh_proof_groups_found(void *arg, const PlhHeapFound *found)
{
	PlhProofGroups *groups = arg;
	int64		bytes = found->chunk->end - found->chunk->start;
	PlhProofSum *group = group_of_chunk(groups, found->chunk);

	groups->sums.chunks++;
	groups->sums.bytes += bytes;
	groups->chunk_bytes[found->chunk->block->context] += bytes;
	if (group != NULL)
	{
		group->told.chunks++;
		group->told.bytes += bytes;
		plh_proof_groups_add_held(groups, group, found, bytes);
	}
}

static void
show_content(PlhProofGroups *groups, PlhProofSum *group, const PlhHeapChunk *chunk)
{
	PlhHeapLook look = plh_heap_kinds_look(groups->contexts, &groups->server.tags, chunk);

	group->look.text = look.text;
	group->look.text_bytes = look.text_bytes;
}

static void
add_lost(PlhProofGroups *groups, const PlhHeapChunk *chunk)
{
	int64		bytes = chunk->end - chunk->start;
	bool		resettable = plh_proof_groups_is_resettable(groups, chunk->block->context);
	PlhProofSum *group = group_of_chunk(groups, chunk);

	groups->sums.chunks++;
	groups->sums.bytes += bytes;
	groups->sums.lost_chunks++;
	groups->sums.lost_bytes += bytes;
	groups->chunk_bytes[chunk->block->context] += bytes;
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

/* Its headers and the free room in it; its chunks are told as such. */
static void
add_lost_context(PlhProofGroups *groups, uint32 context)
{
	int64		bytes = (int64) groups->contexts->list[context].bytes -
		groups->chunk_bytes[context];
	const PlhHeapLook look = {.kind = PLH_HEAP_NO_CHUNK};
	PlhProofSum *group = group_of_look(groups, context, 0, look);

	bytes = Max(bytes, 0);
	groups->sums.bytes += bytes;
	groups->sums.lost_bytes += bytes;
	if (group == NULL)
		return;
	group->told.chunks++;
	group->told.bytes += bytes;
	group->told.lost_chunks++;
	group->told.lost_bytes += bytes;
}

static void
add_lost_contexts(PlhProofGroups *groups)
{
	plh_heap_known_follow(groups->contexts);
	for (uint32 i = 0; i < groups->contexts->count; i++)
		if (plh_heap_known_is_lost(groups->contexts, &groups->server.lasting, i))
			add_lost_context(groups, i);
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

void
plh_proof_groups_finish(PlhProofGroups *groups)
{
	add_all_lost(groups);
	add_lost_contexts(groups);
	count_closed(groups);
}
