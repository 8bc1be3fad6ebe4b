/*
 * leak_snapshot.c
 *	  What this session holds at some time, by call site and by name of memory
 *	  context, and the gain from one time to another.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/guard.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/census.h"
#include "sampler/malloc_hooks.h"
#include "verdict/leak_snapshot.h"

/* Entries that a series has room for at first. */
#define FIRST_ROOM 256

static void
append_held(PlhHeldSeries *series, int number, int64 bytes, int64 count,
			MemoryContext memory)
{
	if (series->held == NULL)
	{
		series->room = FIRST_ROOM;
		series->held = MemoryContextAllocHuge(memory, sizeof(PlhHeld) *
											  series->room);
	}
	if (series->count == series->room)
	{
		series->room *= 2;
		series->held = repalloc_huge(series->held, sizeof(PlhHeld) *
									 series->room);
	}
	series->held[series->count].number = number;
	series->held[series->count].bytes = bytes;
	series->held[series->count].count = count;
	series->count++;
}

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

/*
 * Note in that memory context what is held now.
 */
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
		append_held(sites, plh_profile_image_offset(image, site),
					site->counters.live_bytes, site->counters.live_count,
					memory);
	for (PlhContextRecord *record = plh_profile_next_context(NULL);
		 record != NULL; record = plh_profile_next_context(record))
		append_held(contexts, 0, record->bytes, record->instances, memory);
	reverse(contexts);
}

/* What that number held in a snapshot: nothing before it was there. */
static PlhHeld
held_by(const PlhHeldSeries *series, int number)
{
	int			low = 0;
	int			high = series->count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (series->held[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < series->count && series->held[low].number == number)
		return series->held[low];
	return (PlhHeld)
	{
		.number = number
	};
}

/* The gain between two snapshots of a series. */
static PlhHeld
gain_between(const PlhHeldSeries *from, const PlhHeldSeries *to, int number)
{
	PlhHeld		result = held_by(to, number);
	PlhHeld		before = held_by(from, number);

	result.bytes -= before.bytes;
	result.count -= before.count;
	return result;
}

/*
 * The gain of both halves together.
 */
PlhHeld
plh_leak_snapshot_gain(const PlhLeakHalves *halves, PlhHolder holder,
					   int number)
{
	return gain_between(&halves->start->series[holder],
						&halves->end->series[holder], number);
}

/*
 * Is it a gain?  Contexts must have become more.  Chunks may be of 0 bytes, and
 * may grow by realloc.
 */
static bool
is_gain(PlhHolder holder, PlhHeld gained)
{
	if (holder == PLH_HOLDER_CONTEXTS)
		return gained.count > 0;
	return gained.bytes > 0 || (gained.bytes == 0 && gained.count > 0);
}

/*
 * Has that number gained in each of both halves?
 */
bool
plh_leak_snapshot_grows(const PlhLeakHalves *halves, PlhHolder holder,
						int number)
{
	const PlhHeldSeries *middle = &halves->middle->series[holder];

	return is_gain(holder, gain_between(&halves->start->series[holder],
										middle, number)) &&
		is_gain(holder, gain_between(middle,
									 &halves->end->series[holder], number));
}
