/*
 * profile_recycling.c
 *	  Gives up records that hold nothing, so that their room is used again.
 *
 * A session that never runs the same statement twice makes new sites all the time, most of which
 * soon hold nothing any more.  src/profile/README, "Room for new records", tells what is given up.
 *
 * Invariant: the counters of all sites add up to those of the process.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/settings.h"
#include "profile/profile_counters.h"
#include "profile/profile_image.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"

/* A round begins when at least this many bytes were taken since the last. */
#define LEAST_BYTES ((Size) 256 * 1024)

/* For each byte that is taken, a round walks over this many. */
#define WALK_PER_BYTE 16

/* Where no room is left, a round walks over this many bytes at once, which takes some 100 us. */
#define HURRY_BYTES ((Size) 512 * 1024)

/* The most that rounds walk over for each byte that was taken, or wanted in vain. */
#define MOST_WALK_PER_BYTE 16

PlhRecyclingPins plh_profile_recycling_pins;

/* They never start again: code that has noted one must see that it is outdated. */
PLH_SURVIVES_FORK uint32 plh_profile_recycling_generation = 1;
PLH_SURVIVES_FORK uint32 plh_profile_recycling_site_generation = 1;

/*
 * Where more than these parts of the profile's maximum size are in use, more is given up than the
 * statements of sites that hold nothing: their stacks, too; the statements of sites that held
 * something at the peak; and the stacks of these.
 */
#define PART_FOR_STACKS 0.5
#define PART_FOR_PEAK 0.75
#define PART_FOR_STACKS_OF_PEAK 0.9

/* From here on free records are joined: small pieces are of no use to a deep stack. */
#define PART_FOR_JOINING 0.75

static struct
{
	uint32		cursor;			/* next record of the round; 0 between rounds */
	Size		taken_bytes;	/* or wanted, since the last round began */
	Size		survived_bytes; /* in use when the last round ended */
	double		part_in_use;	/* when the round at work began */
	int			suspensions;	/* by leak checks, and plans that are watched,
								 * which need all sites where they are */
}			state;

/*
 * Returns how many bytes are taken before the next round begins.  As many as the last one left in
 * use, so that on average each record that is made costs a few that are looked at; fewer where the
 * profile would be full before.
 */
static Size
bytes_to_next_round(void)
{
	Size		room = plh_load_settings.max_profile_size -
		Min(state.survived_bytes, plh_load_settings.max_profile_size);
	Size		least = plh_profile->used_bytes / MOST_WALK_PER_BYTE;

	return Max(Min(Max(state.survived_bytes, LEAST_BYTES), room / 2), least);
}

static void
begin_round(void)
{
	Assert(state.cursor == 0);
	state.cursor = MAXALIGN(sizeof(PlhProfileHeader));
	state.taken_bytes = 0;
	state.part_in_use = (double) plh_profile_records_bytes_in_use() /
		plh_load_settings.max_profile_size;
}

static inline void
assert_sums(void)
{
#ifdef USE_ASSERT_CHECKING
	PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhCounters *whole = &plh_profile->counters;
	const PlhSiteRecord *site;
	PlhCounters sums = {0};
	int64		peak_bytes = 0;
	uint32		sites = 0;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		sums.live_bytes += site->counters.live_bytes;
		sums.total_bytes += site->counters.total_bytes;
		sums.total_count += site->counters.total_count;
		sums.total_samples += site->counters.total_samples;
		peak_bytes += plh_site_peak_bytes(image->header, site);
		sites++;
	}
	Assert(sums.live_bytes == whole->live_bytes);
	Assert(sums.total_bytes == whole->total_bytes);
	Assert(sums.total_count == whole->total_count);
	Assert(sums.total_samples == whole->total_samples);
	Assert(peak_bytes == plh_profile->peak_bytes);
	Assert(sites == plh_profile->site_count + 1);
#endif
}

/* Give up a stack or statement that no site refers to, unless it is pinned. */
static void
give_up_unreferenced(uint32 offset)
{
	PlhRecord  *record = plh_profile_records_at(offset);

	if (record->references == 0 &&
		offset != plh_profile_recycling_pins.stack &&
		offset != plh_profile_recycling_pins.statement)
	{
		if (record->kind == PLH_RECORD_STACK)
			plh_profile_recycling_generation++;
		plh_profile_records_give_up(offset);
	}
}

/* A site no longer refers to a stack or statement, which may be none. */
static void
drop_reference(uint32 offset)
{
	PlhRecord  *record;

	if (offset < sizeof(PlhProfileHeader))
		return;
	record = plh_profile_records_at(offset);
	Assert(record->kind == PLH_RECORD_STACK || record->kind == PLH_RECORD_STATEMENT);
	Assert(record->references > 0);
	record->references--;
	give_up_unreferenced(offset);
}

/*
 * Returns whether the totals of a site, which may have been part of the peak, may go to one with a
 * less precise key, and makes the key that one.
 */
static bool
make_less_precise(PlhSiteKey *key, bool of_peak)
{
	if (key->statement != 0)
	{
		key->statement = 0;
		return !of_peak || state.part_in_use > PART_FOR_PEAK;
	}
	if (key->stack < sizeof(PlhProfileHeader))
		return false;
	key->stack = PLH_FORMER_STACKS;
	return state.part_in_use > (of_peak ? PART_FOR_STACKS_OF_PEAK : PART_FOR_STACKS);
}

static void
drop_spans(PlhSiteRecord *site)
{
	uint32		offset = site->spans;

	Assert(site->counters.live_samples == 0);
	site->spans = 0;
	if (offset != 0)
		plh_profile_records_give_up(offset);
}

/* Give up a site.  Others have its totals. */
static void
give_up_site(uint32 offset)
{
	PlhSiteRecord *site = plh_profile_records_at(offset);

	Assert(site->counters.live_samples == 0);
	plh_profile_recycling_site_generation++;

	/* nothing refers to a site: it has the number of its last change there */
	site->record.references = 0;
	drop_spans(site);
	plh_profile_records_give_up(offset);
	plh_profile->site_count--;
	drop_reference(site->key.statement);
	drop_reference(site->key.stack);
}

/* A site without live samples becomes the one with a less precise key. */
static void
change_key(uint32 offset, const PlhSiteKey *key, uint32 hash)
{
	PlhSiteRecord *site = plh_profile_records_at(offset);
	PlhSiteKey	former = site->key;

	drop_spans(site);
	plh_profile_counters_begin_anew(offset);
	site->key = *key;
	plh_profile_records_rehash(offset, hash);
	if (former.statement != key->statement)
		drop_reference(former.statement);
	if (former.stack != key->stack)
		drop_reference(former.stack);
}

/* Give up a site if it holds nothing, and there is an heir to its totals. */
static void
visit_site(uint32 offset)
{
	PlhSiteRecord *site = plh_profile_records_at(offset);
	PlhSiteKey	key = site->key;
	uint32		target;
	uint32		hash;

	if (offset == plh_profile->catch_all_site || site->counters.live_samples > 0)
		return;
	if (site->counters.total_samples == 0)
	{
		give_up_site(offset);
		return;
	}
	if (!make_less_precise(&key, plh_site_peak_bytes(plh_profile, site) != 0))
		return;

	hash = plh_profile_records_hash_site(&key);
	target = plh_profile_records_find_site(&key, hash);
	if (target == 0)
	{
		change_key(offset, &key, hash);
		return;
	}
	plh_profile_counters_fold(offset, target);
	give_up_site(offset);
}

static void
visit(uint32 offset)
{
	PlhRecord  *record = plh_profile_records_at(offset);

	if (record->kind == PLH_RECORD_SITE)
		visit_site(offset);
	else if (record->kind == PLH_RECORD_STACK || record->kind == PLH_RECORD_STATEMENT)
		give_up_unreferenced(offset);
}

/* Walk over that many bytes of records, and end the round at the last. */
static void
walk(Size bytes)
{
	uint32		begin = state.cursor;
	uint32		free_before = 0;
	bool		joins = plh_profile->used_bytes >
		PART_FOR_JOINING * plh_load_settings.max_profile_size;

	while (state.cursor < plh_profile->used_bytes && state.cursor - begin < bytes)
	{
		uint32		offset = state.cursor;
		PlhRecord  *record = plh_profile_records_at(offset);

		state.cursor += record->bytes;
		visit(offset);
		if (record->kind != PLH_RECORD_FREE)
			free_before = 0;
		else if (!joins || free_before == 0 || !plh_profile_records_join(free_before))
			free_before = offset;
	}
	if (state.cursor < plh_profile->used_bytes)
		return;
	state.cursor = 0;
	state.survived_bytes = plh_profile_records_bytes_in_use();
	plh_profile_records_end_round();
	assert_sums();
}

/* Before a record is made: begin a round if it is time, or walk on in proportion. */
static void
advance(Size bytes)
{
	Assert(plh_guard_held && CritSectionCount == 0);
	state.taken_bytes += bytes;
	if (state.suspensions > 0)
		return;
	if (state.cursor == 0 && state.taken_bytes >= bytes_to_next_round())
		begin_round();
	if (state.cursor != 0)
		walk(WALK_PER_BYTE * bytes);
}

/* Without room: begin a round unless one has just ended, and let the one at work hurry. */
void
plh_profile_recycling_hurry(void)
{
	Assert(plh_guard_held && CritSectionCount == 0);
	if (state.suspensions > 0)
		return;
	if (state.cursor == 0 && state.taken_bytes >= plh_profile->used_bytes / MOST_WALK_PER_BYTE)
		begin_round();
	if (state.cursor != 0)
		walk(HURRY_BYTES);
}

/* Make zeroed room for a record, or return NULL.  Others may be given up first. */
void *
plh_profile_recycling_take(Size bytes)
{
	void	   *record;

	advance(bytes);
	record = plh_profile_records_take(bytes);
	if (record == NULL)
	{
		plh_profile_recycling_hurry();
		record = plh_profile_records_take(bytes);
	}
	return record;
}

/*
 * Give up nothing from now on.  What can be given up is given up before, as the room may be needed
 * meanwhile.  Each such call is ended by one of plh_profile_recycling_resume.
 */
void
plh_profile_recycling_suspend(void)
{
	bool		was_held = plh_guard_take();

	if (plh_profile != NULL)
	{
		if (state.cursor == 0)
			begin_round();
		walk(plh_profile->used_bytes);
	}
	state.suspensions++;
	plh_guard_restore(was_held);
}

/* Go on with recycling, unless it was suspended more than once. */
void
plh_profile_recycling_resume(void)
{
	Assert(state.suspensions > 0);
	state.suspensions--;
}

/* Forget the round at work, as it is about another profile. */
void
plh_profile_recycling_forget(void)
{
	memset(&plh_profile_recycling_pins, 0, sizeof(plh_profile_recycling_pins));
	plh_profile_recycling_generation++;
	plh_profile_recycling_site_generation++;
	memset(&state, 0, sizeof(state));
}
