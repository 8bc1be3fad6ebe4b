/*
 * found_leaks.c
 *	  What stays behind each time that a statement runs: what is lost by a proof, and what grows in
 *	  two halves of the runs.
 *
 * What is lost is a leak at once.  Beside that, a site, or a name of contexts, must have gained in
 * the first half and in the second.  A site may have both.
 */
#include "postgres.h"

#include "check/found_leaks.h"
#include "check/proven_loss.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "reader/collections.h"

/* Leaks that there is room for at first, where they come one by one. */
#define FIRST_ROOM 16

static int
lost_sites(const PlhLeakHalves *halves)
{
	return halves->lost_at_end != NULL ? halves->lost_at_end->count : 0;
}

static PlhLeak *
add_leak(PlhLeaks *found, const PlhSiteRecord *site,
		 const PlhContextRecord *contexts, int number, PlhHeld gained, int64 runs)
{
	PlhLeak    *leak = &found->leaks[found->count++];

	memset(leak, 0, sizeof(*leak));
	leak->site = site;
	leak->contexts = contexts;
	leak->number = number;
	leak->bytes = gained.bytes;
	leak->count = gained.count;
	leak->runs = runs;
	return leak;
}

/* Is there a site in contexts of that name among the leaks? */
static bool
has_site(const PlhLeaks *found, const PlhContextRecord *contexts)
{
	for (int i = 0; i < found->count; i++)
	{
		if (found->leaks[i].site != NULL &&
			found->leaks[i].site->key.context_name == contexts->context_name)
			return true;
	}
	return false;
}

static PlhHeld
lost_at(const PlhLeakHalves *halves, int number)
{
	PlhHeld		nothing = {number};

	return halves->lost_at_end == NULL ? nothing :
		plh_held_series_gain(halves->lost_at_start, halves->lost_at_end, number);
}

/* Find the sites of which more is lost than at the start. */
static void
find_lost(PlhLeaks *found, const PlhLeakHalves *halves, int64 runs)
{
	PlhProfileImage *image = plh_profile_image_own(plh_profile);

	for (int i = 0; i < lost_sites(halves); i++)
	{
		int			number = halves->lost_at_end->held[i].number;
		PlhHeld		lost = lost_at(halves, number);
		PlhHeld		held = plh_leak_snapshot_gain(halves, PLH_HOLDER_SITE, number);
		const PlhSiteRecord *site = plh_profile_image_site(image, number);

		if (lost.count <= 0 || site == NULL)
			continue;
		if (plh_leak_snapshot_grows(halves, PLH_HOLDER_SITE, number) &&
			plh_proven_loss_holds_by_chance(held, lost))
		{
			lost.bytes += held.bytes;
			lost.count += held.count;
		}
		add_leak(found, site, NULL, number, lost, runs)->is_lost = true;
	}
}

/* Find the sites that hold more than at the start, beside what they have lost. */
static void
find_sites(PlhLeaks *found, const PlhLeakHalves *halves, int64 runs)
{
	PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		int			number = plh_profile_image_offset(image, site);
		PlhHeld		held = plh_leak_snapshot_gain(halves, PLH_HOLDER_SITE, number);

		if (plh_leak_snapshot_grows(halves, PLH_HOLDER_SITE, number) &&
			(held.count == 0 || !plh_proven_loss_holds_by_chance(held, lost_at(halves, number))))
			add_leak(found, site, NULL, number, held, runs);
	}
}

/*
 * Find the names of contexts that have become more in both halves, and no site in them says why.
 * The newest record is the first.
 */
static void
find_contexts(PlhLeaks *found, const PlhLeakHalves *halves, int64 runs)
{
	int			count = halves->end->series[PLH_HOLDER_CONTEXTS].count;
	PlhContextRecord *record = NULL;

	for (int i = count - 1; i >= 0 && (record = plh_profile_next_context(record)) != NULL; i--)
	{
		if (record->lifetime == PLH_LIFETIME_SESSION &&
			plh_leak_snapshot_grows(halves, PLH_HOLDER_CONTEXTS, i) &&
			!has_site(found, record))
			add_leak(found, NULL, record, i,
					 plh_leak_snapshot_gain(halves, PLH_HOLDER_CONTEXTS, i), runs);
	}
}

void
plh_found_leaks_find(PlhLeaks *found, const PlhLeakHalves *halves, int64 runs, MemoryContext memory)
{
	found->room = 1 + lost_sites(halves);
	for (int holder = 0; holder < PLH_HOLDERS; holder++)
		found->room += halves->end->series[holder].count;
	found->count = 0;
	found->leaks = MemoryContextAllocHuge(memory, sizeof(PlhLeak) * found->room);
	find_lost(found, halves, runs);
	find_sites(found, halves, runs);
	find_contexts(found, halves, runs);
}

/*
 * Has a site lost chunks that were held by chance when they were looked at first?  Then it was not
 * found to have lost any.
 */
static bool
is_lost_since(const PlhLeaks *found, const PlhLeakHalves *halves, const PlhLeak *leak)
{
	return leak->site != NULL && !plh_found_leaks_has_lost(found, leak->number) &&
		lost_at(halves, leak->number).count > 0;
}

/* Returns whether a leak is one by these halves, too; it may count less by them. */
static bool
confirm(const PlhLeaks *found, const PlhLeakHalves *halves, PlhLeak *leak)
{
	PlhHolder	holder = plh_found_leaks_holder(leak);
	PlhHeld		gained = plh_leak_snapshot_gain(halves, holder, leak->number);

	if (leak->is_lost)
		return true;
	if (is_lost_since(found, halves, leak))
	{
		leak->is_lost = true;
		return true;
	}
	if (!plh_leak_snapshot_grows(halves, holder, leak->number))
		return false;
	if (gained.bytes < leak->bytes)
	{
		leak->bytes = gained.bytes;
		leak->count = gained.count;
	}
	return true;
}

void
plh_found_leaks_confirm(PlhLeaks *found, const PlhLeakHalves *halves)
{
	int			confirmed = 0;

	for (int i = 0; i < found->count; i++)
	{
		PlhLeak		leak = found->leaks[i];

		if (confirm(found, halves, &leak))
			found->leaks[confirmed++] = leak;
	}
	found->count = confirmed;
}

void
plh_found_leaks_merge(PlhLeaks *found, const PlhLeak *leak, MemoryContext memory)
{
	for (int i = 0; i < found->count; i++)
	{
		PlhLeak    *known = &found->leaks[i];

		if (known->number != leak->number || known->is_lost != leak->is_lost ||
			plh_found_leaks_holder(known) != plh_found_leaks_holder(leak))
			continue;
		known->bytes += leak->bytes;
		known->count += leak->count;
		known->runs += leak->runs;
		known->failures += leak->failures;
		return;
	}
	if (found->leaks == NULL)
	{
		found->room = FIRST_ROOM;
		found->leaks = MemoryContextAllocHuge(memory, sizeof(PlhLeak) * found->room);
	}
	found->leaks = plh_array_grow(found->leaks, found->count, &found->room, sizeof(PlhLeak));
	found->leaks[found->count++] = *leak;
}

bool
plh_found_leaks_has_lost(const PlhLeaks *found, int number)
{
	for (int i = 0; i < found->count; i++)
	{
		if (found->leaks[i].is_lost && found->leaks[i].number == number)
			return true;
	}
	return false;
}

bool
plh_found_leaks_has_grown(const PlhLeaks *found)
{
	for (int i = 0; i < found->count; i++)
	{
		if (!found->leaks[i].is_lost)
			return true;
	}
	return false;
}

/* qsort comparator: most bytes per run first. */
static int
compare_leaks(const void *a, const void *b)
{
	const PlhLeak *one = a;
	const PlhLeak *other = b;
	double		one_bytes = (double) one->bytes / one->runs;
	double		other_bytes = (double) other->bytes / other->runs;

	if (one_bytes != other_bytes)
		return one_bytes < other_bytes ? 1 : -1;
	if (one->is_lost != other->is_lost)
		return one->is_lost ? -1 : 1;
	return (one->site == NULL) != (other->site == NULL) ?
		(one->site == NULL ? 1 : -1) : one->number - other->number;
}

void
plh_found_leaks_sort(PlhLeaks *found)
{
	if (found->count > 1)
		qsort(found->leaks, found->count, sizeof(PlhLeak), compare_leaks);
}
