/*
 * proof_told.c
 *	  Makes the file of a proof of its groups: what is worth a line, with its words.
 */
#include "postgres.h"

#include "heap/heap.h"
#include "profile/proof_image.h"
#include "proof/proof_told.h"
#include "proof/proof_words.h"

/* A kind of which nothing is lost is worth a line from here on. */
#define HELD_BYTES 65536

static PlhProofWay
way_of(const PlhProofGroups *groups, const PlhHeapRoots *roots, const PlhProofHeld *held)
{
	return (PlhProofWay)
	{
		groups->contexts, &groups->server.tags, plh_heap_roots_at(roots, held->root),
			held->first, held->from
	};
}

static void
tell_group(PlhProofGroups *groups, const PlhHeapRoots *roots, PlhProofSum *group)
{
	if (group->told.site == 0)
	{
		group->told.what = plh_proof_words_kind(&groups->texts, group->size, &group->look);
		group->told.what_of_user = plh_proof_words_content(&groups->texts, &group->look);
	}
	if (group->largest != NULL)
	{
		const PlhProofHeld *held = group->largest;
		PlhProofWay way = way_of(groups, roots, held);

		group->told.holder = plh_proof_words_holder(&groups->texts, &way);
		group->told.path = plh_proof_words_path(&groups->texts, &way);
		group->told.holder_bytes = Min(held->bytes, group->told.bytes - group->told.lost_bytes);
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
#define ST_ELEMENT_TYPE PlhProofSum
#define ST_COMPARE(a, b) compare_groups(&(a)->told, &(b)->told)
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
		PlhProofSum *group = &groups->list[i];

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
 * Groups know the place of their largest holding, and so are told before these are sorted.
 */
static void
tell_holdings(PlhProofGroups *groups, const PlhHeapRoots *roots, PlhProof *proof,
			  const uint32 *places)
{
	PlhProofHolding *told = (PlhProofHolding *) plh_proof_image_holdings(proof);

	plh_proof_holdings_sort(&groups->holdings);
	for (uint32 i = 0; i < groups->holdings.count && proof->holding_count < PLH_PROOF_HOLDINGS; i++)
	{
		const PlhProofHeld *held = &groups->holdings.list[i];
		uint32		place = places[held->group];
		PlhProofWay way;

		if (place == 0 || proof->groups[place - 1].site != 0)
			continue;
		way = way_of(groups, roots, held);
		told[proof->holding_count++] = (PlhProofHolding)
		{
			plh_proof_words_holder(&groups->texts, &way), place - 1, held->bytes
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
plh_proof_told_make(PlhProofGroups *groups, const PlhHeapRoots *roots, Size *bytes)
{
	PlhProof   *proof = plh_heap_reserve(PLH_PROOF_MOST_BYTES);
	uint32	   *places = plh_heap_reserve(PLH_PROOF_MOST_GROUPS * sizeof(uint32));

	if (proof == NULL || places == NULL)
		return NULL;
	*proof = groups->sums;
	tell_groups(groups, roots, proof, places);
	tell_holdings(groups, roots, proof, places);
	tell_texts(groups, proof);
	*bytes = plh_proof_image_bytes(proof);
	return proof;
}
