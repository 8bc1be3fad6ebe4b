/*
 * test_images.c
 *	  Damaged profiles: whatever is in one, nothing reads beyond its end, and all
 *	  that reads it comes to an end.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "backend.h"
#include "reader_tests.h"
#include "sound_profile.h"

#define SEED 20240917

/* One in this number of damaged profiles is drawn as well, which takes longest. */
#define DRAWN_PART 32

/* All that is done with a profile. */
static const char *
read_profile(const PlhProfileHeader *header, Size bytes,
			 const PlhBaseline *baseline, bool drawn)
{
	static PlhProfileImage image;
	const char *broken;

	plh_profile_image_adopt(&image, header, bytes);
	broken = walk_profile(&image, baseline);
	judge_profile(&image, baseline);
	dump_profile(&image);
	if (drawn)
		draw_profile(&image, baseline);
	return broken;
}

/* As the profile of another process is read, whose label is made to end. */
static const char *
read_damaged(PlhProfileHeader *header, Size bytes,
			 const PlhBaseline *baseline, bool drawn)
{
	MemoryContext reading = AllocSetContextCreate(CurrentMemoryContext,
												  "reading",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(reading);
	const char *broken;

	header->label[sizeof(header->label) - 1] = '\0';
	broken = read_profile(header, bytes, baseline, drawn);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(reading);
	return broken;
}

/* The offset of the record that an offset of a sound profile is in. */
static uint32
record_around(const PlhProfileHeader *sound, uint32 inside)
{
	uint32		offset = MAXALIGN(sizeof(PlhProfileHeader));

	for (;;)
	{
		const PlhRecord *record =
			(const PlhRecord *) ((const char *) sound + offset);

		if (offset + record->bytes > inside)
			return offset;
		offset += record->bytes;
	}
}

/* Somewhere in the profile, mostly not in its header's long history. */
static uint32
any_offset(pg_prng_state *prng, Size bytes)
{
	if (random_below(prng, 4) == 0)
		return random_below(prng, offsetof(PlhProfileHeader, history)) & ~7;
	return (sizeof(PlhProfileHeader) +
			random_below(prng, bytes - sizeof(PlhProfileHeader))) & ~7;
}

/* A number that something may be compared with, or one beside it. */
static uint64
any_limit(pg_prng_state *prng, Size bytes)
{
	const uint64 limits[] = {
		0, 1, 7, 8, 15, 16, 17, 255, 256, 1023, 1024, PG_INT32_MAX,
		(uint64) PG_INT32_MAX + 1, PG_UINT32_MAX - 7, PG_UINT32_MAX,
		PG_INT64_MAX, (uint64) PG_INT64_MAX + 1, PG_UINT64_MAX, bytes,
		bytes - 8, bytes - 16, any_offset(prng, bytes)
	};

	return limits[random_below(prng, lengthof(limits))];
}

/* Two records of a sound profile change places, as far as they are as long. */
static void
swap_records(pg_prng_state *prng, PlhProfileHeader *header,
			 const PlhProfileHeader *sound)
{
	uint32		left = record_around(sound, any_offset(prng, sound->used_bytes));
	uint32		right = record_around(sound, any_offset(prng, sound->used_bytes));
	const PlhRecord *sound_left = (const PlhRecord *) ((const char *) sound + left);
	const PlhRecord *sound_right = (const PlhRecord *) ((const char *) sound + right);
	Size		bytes = Min(sound_left->bytes, sound_right->bytes);

	memcpy((char *) header + left, sound_right, bytes);
	memcpy((char *) header + right, sound_left, bytes);
}

/* Damage a profile; returns how many bytes of it are left. */
static Size
damage(pg_prng_state *prng, PlhProfileHeader *header,
	   const PlhProfileHeader *sound)
{
	Size		bytes = sound->used_bytes;
	uint32		offset = any_offset(prng, bytes);
	char	   *place = (char *) header + offset;
	PlhRecord  *record;

	switch (random_below(prng, 7))
	{
		case 0:
			place[random_below(prng, 8)] ^= 1 << random_below(prng, 8);
			break;
		case 1:
			((uint32 *) place)[random_below(prng, 2)] = any_limit(prng, bytes);
			break;
		case 2:
			*(uint64 *) place = any_limit(prng, bytes);
			break;
		case 3:
			*(uint64 *) place = pg_prng_uint64(prng);
			break;
		case 4:
			record = (PlhRecord *) ((char *) header + record_around(sound, offset));
			record->kind = random_below(prng, PLH_RECORD_KINDS);
			break;
		case 5:
			record = (PlhRecord *) ((char *) header + record_around(sound, offset));
			record->bytes = any_limit(prng, bytes);
			break;
		case 6:
			/* a reader takes no file that is shorter than its header */
			header->used_bytes = Max(sizeof(PlhProfileHeader), offset);
			return header->used_bytes;
	}
	return bytes;
}

/* Profiles with one damage, or several. */
static void
test_damaged(const PlhProfileHeader *sound, const PlhBaseline *baseline)
{
	Size		sound_bytes = sound->used_bytes;
	pg_prng_state prng;
	const char *broken = NULL;

	pg_prng_seed(&prng, SEED);
	for (int i = 0; i < rounds(100000) && broken == NULL; i++)
	{
		PlhProfileHeader *whole = copy_profile(sound, sound_bytes);
		PlhProfileHeader *header;
		Size		bytes = sound_bytes;

		try_begins("damaged profiles", SEED, i);
		if (random_below(&prng, 8) == 0)
			swap_records(&prng, whole, sound);
		for (int damages = random_below(&prng, 3); damages >= 0; damages--)
			bytes = Min(bytes, damage(&prng, whole, sound));
		header = copy_profile(whole, bytes);
		broken = read_damaged(header, bytes, baseline, i % DRAWN_PART == 0);
		free(header);
		free(whole);
	}
	ok_unbroken(broken, "damaged profiles are read within their bounds");
	try_begins(NULL, 0, 0);
}

/* Profiles that end too early. */
static void
test_cut(const PlhProfileHeader *sound, const PlhBaseline *baseline)
{
	const char *broken = NULL;

	for (Size bytes = sizeof(PlhProfileHeader); bytes <= sound->used_bytes;
		 bytes += 8)
	{
		PlhProfileHeader *cut = copy_profile(sound, bytes);

		try_begins("profiles cut short", 0, bytes);
		if (broken == NULL)
			broken = read_damaged(cut, bytes, baseline, true);
		free(cut);
	}
	ok_unbroken(broken, "profiles that end anywhere are read within their bounds");
	try_begins(NULL, 0, 0);
}

static int
count_sites(const PlhProfileImage *image)
{
	uint32		position = 0;
	int			count = 0;

	while (plh_profile_image_next_site(image, &position) != NULL)
		count++;
	return count;
}

/* A chain of records that breaks ends where it breaks. */
static void
test_breaks(const PlhProfileHeader *sound)
{
	PlhProfileHeader *header = copy_profile(sound, sound->used_bytes);
	PlhProfileImage image = {0};
	uint32		position = 0;
	PlhSiteRecord *third;
	int			all;

	try_begins("chains of records that break", 0, 0);
	plh_profile_image_adopt(&image, header, header->used_bytes);
	all = count_sites(&image);
	ok(all == sound->site_count + 1, "a sound profile has all its sites");
	for (int i = 0; i < 3; i++)
		third = unconstify(PlhSiteRecord *,
						   plh_profile_image_next_site(&image, &position));
	third->record.kind = 99;
	ok(count_sites(&image) == all - 1, "a record of unknown kind is passed over");
	third->record.kind = PLH_RECORD_SITE;
	third->record.bytes = 0;
	ok(count_sites(&image) == 2, "a record without length ends the chain");
	third->record.bytes = 12;
	ok(count_sites(&image) == 2, "a record that is not aligned ends the chain");
	third->record.bytes = PG_UINT32_MAX & ~7;
	ok(count_sites(&image) == 2, "a record that goes beyond the end ends the chain");
	try_begins(NULL, 0, 0);
	free(header);
}

/* Append a record whose variable part has that size; returns its offset. */
static uint32
append_record(PlhProfileHeader *header, PlhRecordKind kind, Size fixed_bytes,
			  Size variable_bytes)
{
	uint32		offset = header->used_bytes;
	PlhRecord  *record = (PlhRecord *) ((char *) header + offset);

	record->kind = kind;
	record->bytes = TYPEALIGN(8, fixed_bytes + variable_bytes);
	header->used_bytes += record->bytes;
	return offset;
}

static uint32
append_string(PlhProfileHeader *header, Size bytes)
{
	uint32		offset = append_record(header, PLH_RECORD_STRING,
									   offsetof(PlhStringRecord, text), bytes + 1);

	((PlhStringRecord *) ((char *) header + offset))->text_bytes = bytes;
	return offset;
}

static uint32
append_statement(PlhProfileHeader *header, Size bytes)
{
	uint32		offset = append_record(header, PLH_RECORD_STATEMENT,
									   offsetof(PlhStatementRecord, text),
									   bytes + 1);

	((PlhStatementRecord *) ((char *) header + offset))->text_bytes = bytes;
	return offset;
}

static uint32
append_stack(PlhProfileHeader *header, uint32 depth)
{
	uint32		offset = append_record(header, PLH_RECORD_STACK,
									   offsetof(PlhStackRecord, frames),
									   sizeof(PlhFrame) * depth);

	((PlhStackRecord *) ((char *) header + offset))->depth = depth;
	return offset;
}

/* A record that is larger than any owner makes it would be in the text of each site. */
static void
test_sizes(void)
{
	PlhProfileHeader *header = calloc(1, sizeof(PlhProfileHeader) + 64 * 1024);
	uint32		records[6];
	PlhProfileImage image = {0};

	header->used_bytes = MAXALIGN(sizeof(PlhProfileHeader));
	records[0] = append_string(header, PLH_CONTEXT_NAME_MAX);
	records[1] = append_string(header, PLH_CONTEXT_NAME_MAX + 1);
	records[2] = append_statement(header, PLH_STATEMENT_MAX);
	records[3] = append_statement(header, PLH_STATEMENT_MAX + 1);
	records[4] = append_stack(header, PLH_MAX_FRAMES);
	records[5] = append_stack(header, PLH_MAX_FRAMES + 1);
	plh_profile_image_adopt(&image, header, header->used_bytes);
	ok(plh_profile_image_string(&image, records[0]) != NULL &&
	   plh_profile_image_string(&image, records[1]) == NULL,
	   "a name may have as many bytes as owners keep");
	ok(plh_profile_image_statement(&image, records[2]) != NULL &&
	   plh_profile_image_statement(&image, records[3]) == NULL,
	   "a statement may have as many bytes as owners keep");
	ok(plh_profile_image_stack(&image, records[4]) != NULL &&
	   plh_profile_image_stack(&image, records[5]) == NULL,
	   "a stack may have as many frames as owners keep");
	free(header);
}

/* What varies in a record lies within the record, and not only within the image. */
static void
test_lengths(void)
{
	PlhProfileHeader *header = calloc(1, sizeof(PlhProfileHeader) + 1024);
	uint32		string;
	uint32		stack;
	PlhProfileImage image = {0};

	header->used_bytes = MAXALIGN(sizeof(PlhProfileHeader));
	string = append_string(header, 15);
	stack = append_stack(header, 3);
	append_string(header, 200);
	plh_profile_image_adopt(&image, header, header->used_bytes);
	ok(plh_profile_image_string(&image, string) != NULL &&
	   plh_profile_image_stack(&image, stack) != NULL,
	   "a record may be full");
	/* where the next record has a zero */
	((PlhStringRecord *) ((char *) header + string))->text_bytes = 17;
	ok(plh_profile_image_string(&image, string) == NULL,
	   "a name does not end behind its record");
	((PlhStackRecord *) ((char *) header + stack))->depth = 4;
	ok(plh_profile_image_stack(&image, stack) == NULL,
	   "a stack has no frames behind its record");
	free(header);
}

/* Samples are lost in several ways, which count together. */
static void
test_losses(void)
{
	PlhProfileHeader *header = calloc(1, sizeof(PlhProfileHeader));

	for (int loss = 0; loss < PLH_LOSSES; loss++)
		header->lost_samples[loss] = 1 << loss;
	ok(plh_profile_image_lost_samples(header) == (1 << PLH_LOSSES) - 1,
	   "samples that are lost in any way count");
	free(header);
}

/* A profile of a number of sites, as its owner left it. */
static void
test_sound(int sites, const char *name)
{
	PlhProfileHeader *sound = make_profile(sites, SEED);
	PlhProfileImage image = {0};

	plh_profile_image_adopt(&image, sound, sound->used_bytes);
	ok_unbroken(read_profile(sound, sound->used_bytes, half_of_profile(&image),
							 true), name);
	free(sound);
	forget_memory();
}

void
test_images(void)
{
	PlhProfileHeader *sound = make_profile(8, SEED);
	PlhProfileImage image = {0};
	PlhBaseline *baseline;

	test_sound(0, "a profile without sites is read");
	test_sound(8, "a profile with a few sites is read");
	test_sound(1000, "a profile with many sites is read");
	plh_profile_image_adopt(&image, sound, sound->used_bytes);
	baseline = half_of_profile(&image);
	printf("# a profile of %u bytes\n", sound->used_bytes);
	test_breaks(sound);
	test_sizes();
	test_lengths();
	test_losses();
	test_damaged(sound, baseline);
	test_cut(sound, baseline);
	free(sound);
	forget_memory();
}
