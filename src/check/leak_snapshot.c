/*
 * leak_snapshot.c
 *	  What this session holds at some time, by call site and by name of memory context, and the
 *	  gain from one time to another; and what malloc has given out other than to memory
 *	  contexts.
 *
 * Of malloc, both sums are exact, but their difference is not: blocks of contexts take more of
 * malloc than the contexts know.
 */
#include "postgres.h"

#include "base/guard.h"
#include "check/leak_snapshot.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/census_count.h"
#include "sampler/malloc_hooks.h"

/*
 * A block of a memory context takes more of malloc than its size, by one part in OVERHEAD_PART at
 * most: 4 kB of 128 kB where malloc maps it, and less elsewhere.
 */
#define OVERHEAD_PART 32

/* A chunk of malloc has at least twice as many bytes. */
#define LEAST_BYTES 16

/* The most bytes that a chunk takes of malloc beyond what was asked for. */
#define CHUNK_BYTES 32

/* The profile has context names with the newest first: number the oldest 0. */
static void
reverse(PlhHeldSeries *series)
{
	for (int i = 0, j = series->count - 1; i < j; i++, j--)
	{
		PlhHeld		swapped = series->held[i];

		series->held[i] = series->held[j];
		series->held[j] = swapped;
	}
	for (int i = 0; i < series->count; i++)
		series->held[i].number = i;
}

void
plh_leak_snapshot_take(PlhLeakSnapshot *snapshot, MemoryContext memory)
{
	PlhHeldSeries *sites = &snapshot->series[PLH_HOLDER_SITE];
	PlhHeldSeries *contexts = &snapshot->series[PLH_HOLDER_CONTEXTS];
	const PlhSiteRecord *site;
	PlhProfileImage *image;
	uint32		position = 0;

	memset(snapshot, 0, sizeof(*snapshot));
	plh_guard_call(plh_malloc_hooks_reap);
	plh_census_count_contexts();
	image = plh_profile_image_own(plh_profile);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		PlhHeld		held = {
			plh_profile_image_offset(image, site), site->counters.live_bytes,
			site->counters.live_count
		};

		plh_held_series_append(sites, held, memory);
	}
	for (PlhContextRecord *record = plh_profile_next_context(NULL);
		 record != NULL; record = plh_profile_next_context(record))
	{
		PlhHeld		held = {0, record->bytes, record->instances};

		plh_held_series_append(contexts, held, memory);
	}
	reverse(contexts);
}

PlhHeld
plh_leak_snapshot_gain(const PlhLeakHalves *halves, PlhHolder holder, int number)
{
	PlhHeld		gained = plh_held_series_gain(&halves->start->series[holder],
											  &halves->end->series[holder], number);

	if (holder == PLH_HOLDER_SITE && halves->lost_at_start != NULL)
	{
		PlhHeld		lost = plh_held_series_gain(halves->lost_at_start, halves->lost_at_end, number);

		gained.bytes -= lost.bytes;
		gained.count -= lost.count;
	}
	return gained;
}

bool
plh_leak_snapshot_is_gain(PlhHolder holder, PlhHeld gained)
{
	if (holder == PLH_HOLDER_CONTEXTS)
		return gained.count > 0;
	return gained.bytes > 0 || (gained.bytes == 0 && gained.count > 0);
}

bool
plh_leak_snapshot_grows(const PlhLeakHalves *halves, PlhHolder holder, int number)
{
	const PlhHeldSeries *middle = &halves->middle->series[holder];
	const PlhHeldSeries *start = &halves->start->series[holder];
	const PlhHeldSeries *end = &halves->end->series[holder];

	return plh_leak_snapshot_is_gain(holder, plh_held_series_gain(start, middle, number)) &&
		plh_leak_snapshot_is_gain(holder, plh_held_series_gain(middle, end, number)) &&
		plh_leak_snapshot_is_gain(holder, plh_leak_snapshot_gain(halves, holder, number));
}

bool
plh_leak_snapshot_has_gained(const PlhLeakSnapshot *from, const PlhLeakSnapshot *to)
{
	for (int holder = 0; holder < PLH_HOLDERS; holder++)
	{
		const PlhHeldSeries *series = &to->series[holder];

		for (int i = 0; i < series->count; i++)
		{
			PlhHeld		gained = plh_held_series_gain(&from->series[holder], series,
													  series->held[i].number);

			if (plh_leak_snapshot_is_gain(holder, gained))
				return true;
		}
	}
	return false;
}

PlhMallocSnapshot
plh_leak_snapshot_malloc(void)
{
	PlhMallocSnapshot snapshot;

	plh_census_count_contexts();
	plh_census_count_malloc();
	snapshot.malloc_bytes = plh_profile->malloc_bytes;
	snapshot.context_bytes = plh_profile->context_bytes;
	return snapshot;
}

/*
 * Returns the bytes that malloc has given out since, and not got back, per iteration; what contexts
 * have, or may have, is not counted.
 */
int64
plh_leak_snapshot_malloc_since(const PlhMallocSnapshot *before, int iterations)
{
	PlhMallocSnapshot now = plh_leak_snapshot_malloc();
	int64		contexts = now.context_bytes - before->context_bytes;
	int64		gained = now.malloc_bytes - before->malloc_bytes - contexts -
		llabs(contexts) / OVERHEAD_PART;

	if (before->malloc_bytes < 0 || now.malloc_bytes < 0 ||
		gained < (int64) iterations * LEAST_BYTES)
		return 0;
	return gained / iterations;
}

/*
 * Returns what is left of such a gain without the chunks of each iteration whose call sites are
 * known, which have "bytes" bytes in all; 0 where nothing is left for sure.
 */
int64
plh_leak_snapshot_malloc_beside(int64 gained, double bytes, double chunks)
{
	double		rest = (double) gained - bytes - bytes / OVERHEAD_PART - chunks * CHUNK_BYTES;

	return rest < LEAST_BYTES ? 0 : (int64) rest;
}
