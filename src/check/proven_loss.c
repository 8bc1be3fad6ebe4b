/*
 * proven_loss.c
 *	  What is lost of the chunks of each call site, by a proof: nothing points to them.
 *
 * What lies in a context that somebody can still reset is not counted, as that may be how it is
 * freed.  Whether it is shows by what the site holds when the statement has run again.
 */
#include "postgres.h"

#include "check/proven_loss.h"

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
