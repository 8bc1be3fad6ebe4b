/*
 * proven_loss.c
 *	  What is lost of the chunks of each call site, by a proof: nothing points to them.
 *
 * What lies in a context that somebody can still reset is not counted, as that may be how it is
 * freed.  Whether it is shows by what the site holds when the statement has run again.
 */
#include "postgres.h"

#include "check/proven_loss.h"

/* So many words point by chance to what is lost, or to one part in so many of it. */
#define LEFT_OVER_WORDS 2
#define LEFT_OVER_PART 4

PlhHeldSeries
plh_proven_loss_of(const PlhProof *proof, MemoryContext memory)
{
	PlhHeldSeries lost = {0};

	for (uint32 i = 0; proof != NULL && i < proof->group_count; i++)
	{
		const PlhProofGroup *group = &proof->groups[i];
		PlhHeld		held = {
			group->site, group->lost_bytes - group->resettable_bytes,
			group->lost_chunks - group->resettable_chunks
		};

		if (group->site != 0 && held.count > 0)
			plh_held_series_append(&lost, held, memory);
	}
	plh_held_series_sort(&lost);
	return lost;
}

/*
 * A few words of any process are left over.  They may point to the last chunks that were lost, or
 * to those that are where others were.
 */
bool
plh_proven_loss_holds_by_chance(PlhHeld held, PlhHeld lost)
{
	return held.count <= lost.count &&
		held.count <= Max(LEFT_OVER_WORDS, lost.count / LEFT_OVER_PART);
}
