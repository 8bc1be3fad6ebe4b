/*
 * simulated_proof.c
 *	  Proofs of a simulated process: which of its chunks nothing points to, and who holds the rest.
 */
#include "postgres.h"

#include "profile/profile.h"
#include "simulated_proof.h"
#include "simulated_state.h"

/* The most sites whose fates are known. */
#define FATES 1024

/* A sample, and the site that it is of. */
typedef struct Member
{
	uint32		site;
	int			sample;
}			Member;

static struct
{
	int			who[FATES];
	Fate		fates[FATES];
	int			fate_count;
	Fate		malloc_fate;
	Member	   *members;
	int			member_count;
	int			member_room;
	PlhProof   *proof;
	uint32		text_bytes;
	char		texts[64 * 1024];
}			proving;

void
simulated_fate(int who, const Fate * fate)
{
	int			place = 0;

	while (place < proving.fate_count && proving.who[place] != who)
		place++;
	if (place == FATES)
		abort();
	proving.who[place] = who;
	proving.fates[place] = *fate;
	proving.fate_count = Max(proving.fate_count, place + 1);
}

void
simulated_fate_of_malloc(const Fate * fate)
{
	proving.malloc_fate = *fate;
}

static Fate
fate_of(int who)
{
	for (int i = 0; i < proving.fate_count; i++)
		if (proving.who[i] == who)
			return proving.fates[i];
	return (Fate)
	{
		0
	};
}

static void
add_members(MemoryContext context)
{
	for (int i = shell_of(context)->samples; i >= 0; i = simulated.samples[i].next)
	{
		if (proving.member_count == proving.member_room)
		{
			proving.member_room = Max(1024, 2 * proving.member_room);
			proving.members = realloc(proving.members,
									  sizeof(Member) * proving.member_room);
		}
		proving.members[proving.member_count++] = (Member)
		{
			simulated.samples[i].site, i
		};
	}
	for (MemoryContext child = context->firstchild; child != NULL; child = child->nextchild)
		add_members(child);
}

/* qsort comparator */
static int
compare_members(const void *a, const void *b)
{
	const		Member *left = a;
	const		Member *right = b;

	return left->site < right->site ? -1 : left->site > right->site;
}

/* A text, by its offset; each is there once. */
static uint32
text_offset(const char *text)
{
	Size		length = text == NULL ? 0 : strlen(text) + 1;
	uint32		offset = 0;

	if (text == NULL || *text == '\0')
		return 0;
	while (offset < proving.text_bytes)
	{
		if (strcmp(&proving.texts[offset], text) == 0)
			return offset;
		offset += strlen(&proving.texts[offset]) + 1;
	}
	if (offset + length > sizeof(proving.texts))
		abort();
	memcpy(&proving.texts[offset], text, length);
	proving.text_bytes += length;
	return offset;
}

/* Add a chunk to the group of its site. */
static void
add_to_group(PlhProofGroup *group, const Sample *sample)
{
	PlhSampleValue value = plh_sampling_value(sample->size, sample->draw);
	int64		bytes = (int64) sample->size * value.weight;
	Fate		fate = fate_of(sample->who);

	group->samples++;
	group->chunks += value.weight;
	group->bytes += bytes;
	if (sample->fate >= fate.lost_part)
	{
		group->holder = text_offset(fate.holder);
		group->path = text_offset(fate.path);
		group->holder_bytes += fate.holder == NULL ? 0 : bytes;
		return;
	}
	group->lost_samples++;
	group->lost_chunks += value.weight;
	group->lost_bytes += bytes;
	group->lost_variance += value.variance;
	if (sample->fate < fate.lost_part * fate.resettable_part)
		group->resettable_bytes += bytes;
}

static PlhProofGroup
new_group(uint32 offset)
{
	const PlhSiteRecord *site = (const PlhSiteRecord *) ((const char *) plh_profile + offset);

	return (PlhProofGroup)
	{
		.site = offset,.born = site->record.born,.lifetime = site->key.lifetime
	};
}

/* The groups of all members, of which those of one site follow one another. */
static void
fill_groups(PlhProof *proof)
{
	for (int i = 0; i < proving.member_count; i++)
	{
		const		Member *member = &proving.members[i];

		if (i == 0 || member->site != member[-1].site)
		{
			if (proof->group_count == PLH_PROOF_GROUPS)
				return;
			proof->groups[proof->group_count++] = new_group(member->site);
			proof->site_count++;
		}
		add_to_group(&proof->groups[proof->group_count - 1],
					 &simulated.samples[member->sample]);
	}
}

static void
drop_proof(void)
{
	free(proving.proof);
	proving.proof = NULL;
	proving.member_count = 0;
}

/* What malloc has given out and is not sampled, where its structures are known. */
static void
add_malloc(PlhProof *proof)
{
	const		Fate *fate = &proving.malloc_fate;
	PlhProofGroup *group = &proof->groups[proof->group_count];
	int64		bytes = simulated.outside_bytes;
	int64		lost;

	for (uint32 i = 0; i < proof->group_count; i++)
		if (proof->groups[i].lifetime == PLH_LIFETIME_PROCESS)
			bytes -= proof->groups[i].bytes;
	if (simulated.allocator != PLH_ALLOCATOR_GLIBC || bytes <= 0 ||
		proof->group_count == PLH_PROOF_GROUPS)
		return;
	lost = (int64) (fate->lost_part * bytes);
	proof->group_count++;
	*group = (PlhProofGroup)
	{
		.lifetime = PLH_LIFETIME_PROCESS,.chunks = 1,.bytes = bytes,
			.lost_chunks = lost > 0,.lost_bytes = lost,.holder = text_offset(fate->holder),
			.path = text_offset(fate->path),
			.holder_bytes = fate->holder == NULL ? 0 : bytes - lost
	};
}

void
simulated_prove(void)
{
	PlhProof   *proof;

	drop_proof();
	proving.text_bytes = 1;
	add_members(tree.top);
	add_members(&simulated.blocks.data);
	qsort(proving.members, proving.member_count, sizeof(Member), compare_members);
	proof = calloc(1, offsetof(PlhProof, groups) + sizeof(proving.texts) +
				   sizeof(PlhProofGroup) * Min(proving.member_count + 1, PLH_PROOF_GROUPS));
	memcpy(proof->magic, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC));
	proof->outcome = PLH_PROOF_PROVEN;
	proof->at = simulated_time();
	fill_groups(proof);
	add_malloc(proof);
	proof->text_bytes = proving.text_bytes;
	memcpy(&proof->groups[proof->group_count], proving.texts, proving.text_bytes);
	proving.proof = proof;
}

const PlhProof *
simulated_proof(void)
{
	return proving.proof;
}

void
simulated_forget_proof(void)
{
	drop_proof();
	proving.fate_count = 0;
	proving.malloc_fate = (Fate)
	{
		0
	};
}
