/*
 * test_layouts.c
 *	  Profiles of other layouts: of the one before, and with headers and records
 *	  of other sizes.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "backend.h"
#include "profile/profile_image.h"
#include "profile/site_ages.h"
#include "reader/profile_layouts.h"
#include "reader_tests.h"
#include "report/context_examples.h"
#include "sound_profile.h"
#include "tap.h"
#include "judge/followed_parts.h"

#define SEED 77
#define SITES 200

/* What another layout is like. */
typedef struct OtherLayout
{
	uint32		version;
	int			header_change;	/* bytes more, or fewer */
	int			record_change[PLH_RECORD_KINDS];
} OtherLayout;

/* A profile that is being written in another layout. */
typedef struct Rewriting
{
	const OtherLayout *layout;
	const PlhProfileHeader *profile;
	char	   *copy;
	Size		bytes;
	uint32	   *offsets;		/* in the copy, by offset / 8 */
} Rewriting;

static uint32
moved(const Rewriting *rewriting, uint32 offset)
{
	return offset == PLH_FORMER_STACKS ? offset :
		rewriting->offsets[offset / 8];
}

/* Copy a record with its part before what varies longer, or shorter. */
static void
rewrite_record(Rewriting *rewriting, const PlhRecord *record, uint32 offset)
{
	int			change = rewriting->layout->record_change[record->kind];
	Size		fixed = plh_profile_image_sizes[record->kind];
	Size		kept = fixed + Min(change, 0);
	PlhRecord  *copy = (PlhRecord *) (rewriting->copy + rewriting->bytes);
	char	   *end = (char *) copy + kept;

	memcpy(copy, record, kept);
	if (change > 0)
		memset(end, 0xAB, change);
	memcpy(end + Max(change, 0), (const char *) record + fixed,
		   record->bytes - fixed);
	copy->bytes = record->bytes + change;
	rewriting->offsets[offset / 8] = rewriting->bytes;
	rewriting->bytes += copy->bytes;
}

static void
rewrite_references(const Rewriting *rewriting, uint32 start)
{
	for (uint32 offset = start; offset < rewriting->bytes;)
	{
		PlhRecord  *record = (PlhRecord *) (rewriting->copy + offset);

		if (record->kind == PLH_RECORD_SITE)
		{
			PlhSiteRecord *site = (PlhSiteRecord *) record;
			PlhSiteKey *key = &site->key;

			if (record->bytes >= offsetof(PlhSiteRecord, spans) + sizeof(uint32))
				site->spans = moved(rewriting, site->spans);
			key->stack = moved(rewriting, key->stack);
			key->context_name = moved(rewriting, key->context_name);
			key->statement = moved(rewriting, key->statement);
		}
		if (record->kind == PLH_RECORD_CONTEXT)
		{
			PlhContextRecord *context = (PlhContextRecord *) record;

			if (record->bytes >= offsetof(PlhContextRecord, examples) + sizeof(uint32))
				context->examples = moved(rewriting, context->examples);
			context->context_name = moved(rewriting, context->context_name);
		}
		if (record->kind == PLH_RECORD_EXAMPLE)
		{
			PlhExampleRecord *example = (PlhExampleRecord *) record;

			example->next = moved(rewriting, example->next);
		}
		if (record->kind == PLH_RECORD_COURSE)
		{
			PlhCourseRecord *course = (PlhCourseRecord *) record;

			course->followed = moved(rewriting, course->followed);
			course->key.stack = moved(rewriting, course->key.stack);
			course->key.context_name = moved(rewriting, course->key.context_name);
		}
		offset += record->bytes;
	}
}

/* The size of the header of a layout. */
static uint32
header_bytes(const OtherLayout *layout)
{
	return layout->version == PLH_LAYOUT_VERSION ?
		sizeof(PlhProfileHeader) + layout->header_change :
		offsetof(PlhProfileHeader, header_bytes);
}

/* Write a profile as another version of pg_leakhunt would. */
static Rewriting
rewrite(const PlhProfileHeader *profile, const OtherLayout *layout)
{
	Rewriting	rewriting = {layout, profile};
	PlhProfileHeader *header;

	rewriting.copy = palloc0(4 * profile->used_bytes);
	rewriting.offsets = palloc0(sizeof(uint32) * profile->used_bytes / 8);
	memcpy(rewriting.copy, profile, sizeof(*profile));
	rewriting.bytes = TYPEALIGN(8, header_bytes(layout));
	for (uint32 offset = MAXALIGN(sizeof(*profile)); offset < profile->used_bytes;)
	{
		const PlhRecord *record =
			(const PlhRecord *) ((const char *) profile + offset);

		rewrite_record(&rewriting, record, offset);
		offset += record->bytes;
	}
	rewrite_references(&rewriting, TYPEALIGN(8, header_bytes(layout)));
	header = (PlhProfileHeader *) rewriting.copy;
	header->layout_version = layout->version;
	header->catch_all_site = moved(&rewriting, profile->catch_all_site);
	header->used_bytes = header->published_bytes = rewriting.bytes;
	if (layout->version == PLH_LAYOUT_VERSION)
	{
		header->header_bytes = header_bytes(layout);
		for (int kind = 0; kind < PLH_RECORD_KINDS; kind++)
			header->record_bytes[kind] += layout->record_change[kind];
	}
	return rewriting;
}

static const char *
text_of(const PlhStringRecord *string)
{
	return string == NULL ? "" : string->text;
}

/* Is what a site refers to the same in both images? */
static const char *
compare_sites(const PlhProfileImage *left, const PlhSiteRecord *a,
			  const PlhProfileImage *right, const PlhSiteRecord *b)
{
	const PlhStackRecord *s = plh_profile_image_stack(left, a->key.stack);
	const PlhStackRecord *t = plh_profile_image_stack(right, b->key.stack);
	const char *broken = NULL;

	REQUIRE(broken, (a->key.stack == PLH_FORMER_STACKS) ==
			(b->key.stack == PLH_FORMER_STACKS));
	REQUIRE(broken, memcmp(&a->counters, &b->counters, sizeof(PlhCounters)) == 0);
	REQUIRE(broken, a->last_change == b->last_change && a->epochs == b->epochs);
	REQUIRE(broken, (s == NULL) == (t == NULL));
	REQUIRE(broken, s == NULL || (s->depth == t->depth &&
								  memcmp(s->frames, t->frames, sizeof(PlhFrame) *
										 s->depth) == 0));
	REQUIRE(broken, strcmp(text_of(plh_profile_image_string(left, a->key.context_name)),
						   text_of(plh_profile_image_string(right, b->key.context_name))) == 0);
	REQUIRE(broken, (plh_profile_image_statement(left, a->key.statement) == NULL) ==
			(plh_profile_image_statement(right, b->key.statement) == NULL));
	if (a->born_bytes != b->born_bytes)
	{
		PlhSiteAge	ages[PLH_SPANS];

		REQUIRE(broken, plh_site_ages_list(ages, right, b, DT_NOEND) == 0 ||
				b->counters.live_bytes == 0);
	}
	return broken;
}

/* Is what was converted the profile that was rewritten? */
static const char *
compare_profiles(const PlhProfileHeader *profile,
				 const PlhProfileHeader *converted, Size bytes)
{
	PlhProfileImage left = {0};
	PlhProfileImage right = {0};
	const PlhSiteRecord *a;
	const char *broken = NULL;
	uint32		left_position = 0;
	uint32		right_position = 0;
	int			sites = 0;

	plh_profile_image_adopt(&left, profile, profile->used_bytes);
	plh_profile_image_adopt(&right, converted, bytes);
	REQUIRE(broken, converted->layout_version == PLH_LAYOUT_VERSION);
	REQUIRE(broken, converted->header_bytes == sizeof(PlhProfileHeader));
	REQUIRE(broken, converted->used_bytes == bytes && bytes % 8 == 0);
	REQUIRE(broken, memcmp(converted->history, profile->history,
						   sizeof(profile->history)) == 0);
	REQUIRE(broken, plh_profile_image_module(&right, 1) != NULL);
	REQUIRE(broken, plh_profile_image_site(&right, converted->catch_all_site) != NULL);
	while (broken == NULL &&
		   (a = plh_profile_image_next_site(&left, &left_position)) != NULL)
	{
		const PlhSiteRecord *b =
			plh_profile_image_next_site(&right, &right_position);

		broken = b == NULL ? "there are as many sites" :
			compare_sites(&left, a, &right, b);
		sites++;
	}
	REQUIRE(broken, sites > SITES / 2);
	return broken;
}

/* What the history follows, as a text. */
static char *
describe_parts(const PlhProfileHeader *profile, Size bytes, PlhCourseKind kind)
{
	PlhProfileImage image = {0};
	PlhFollowedParts *parts;
	StringInfoData text;

	plh_profile_image_adopt(&image, profile, bytes);
	parts = plh_followed_parts_make(&image, kind);
	initStringInfo(&text);
	for (int i = 0; i < parts->count; i++)
	{
		const PlhFollowedPart *part = &parts->parts[i];

		appendStringInfo(&text, "%s:", text_of(plh_profile_image_string(&image, part->context_name)));
		for (int point = 0; point < parts->point_count; point++)
			appendStringInfo(&text, " %lld/%lld",
							 (long long) plh_followed_parts_bytes(part, point),
							 (long long) plh_followed_parts_contexts(part, point));
		appendStringInfo(&text, "\n");
	}
	return text.data;
}

/* Are the same parts followed? */
static void
compare_parts(const PlhProfileHeader *profile,
			  const PlhProfileHeader *converted, Size bytes)
{
	for (PlhCourseKind kind = PLH_COURSE_CONTEXTS; kind < PLH_COURSE_KINDS; kind++)
	{
		const char *before = describe_parts(profile, profile->used_bytes, kind);

		ok(before[0] != '\0' &&
		   strcmp(before, describe_parts(converted, bytes, kind)) == 0,
		   kind == PLH_COURSE_SITE ? "a converted profile follows the same sites" :
		   "a converted profile follows the same contexts");
	}
}

/* What contexts are of, in words. */
static const char *
describe_examples(const PlhProfileHeader *profile, Size bytes)
{
	PlhProfileImage image = {0};
	const PlhContextRecord *record;
	uint32		position = 0;
	StringInfoData text;

	plh_profile_image_adopt(&image, profile, bytes);
	initStringInfo(&text);
	while ((record = plh_profile_image_next_context(&image, &position)) != NULL)
	{
		char	   *texts[PLH_EXAMPLES];
		int			count = plh_context_examples_texts(record, &image, 100, texts);

		for (int i = 0; i < count; i++)
			appendStringInfo(&text, "%s\n", texts[i]);
	}
	return text.data;
}

/* Are contexts of the same, where the layout can tell? */
static void
compare_examples(const OtherLayout *layout, const PlhProfileHeader *profile,
				 const PlhProfileHeader *converted, Size bytes)
{
	const char *before = describe_examples(profile, profile->used_bytes);
	const char *after = describe_examples(converted, bytes);

	ok(before[0] != '\0' &&
	   strcmp(after, layout->version == PLH_LAYOUT_VERSION ? before : "") == 0,
	   "a converted profile tells what contexts are of");
}

/* Does a baseline refer to the converted sites? */
static const char *
compare_baselines(const Rewriting *rewriting, const PlhProfileHeader *profile,
				  const PlhProfileHeader *converted, Size bytes,
				  const PlhMovedRecords *moved_records)
{
	PlhProfileImage image = {0};
	PlhBaseline *baseline;
	const char *broken = NULL;
	const PlhSiteRecord *site;
	uint32		position = 0;

	plh_profile_image_adopt(&image, profile, profile->used_bytes);
	baseline = half_of_profile(&image);
	for (uint32 i = 0; i < baseline->site_count; i++)
		baseline->sites[i].site = moved(rewriting, baseline->sites[i].site);
	baseline->sites[0].stack = PLH_FORMER_STACKS;
	plh_profile_layouts_convert_baseline(baseline, moved_records);
	REQUIRE(broken, baseline->sites[0].stack == PLH_FORMER_STACKS);
	plh_profile_image_adopt(&image, converted, bytes);
	while ((site = plh_profile_image_next_site(&image, &position)) != NULL)
	{
		int64		live_bytes;
		int64		live_count;

		plh_baseline_site(baseline, plh_profile_image_offset(&image, site),
						  &live_bytes, &live_count);
		REQUIRE(broken, live_bytes == site->counters.live_bytes / 2);
	}
	return broken;
}

/* A profile, one site of which has lost its stack to others. */
static PlhProfileHeader *
make_profile_with_former_stack(void)
{
	PlhProfileHeader *profile = make_profile(SITES, SEED);
	PlhProfileImage image = {0};
	const PlhSiteRecord *site;
	uint32		position = 0;

	plh_profile_image_adopt(&image, profile, profile->used_bytes);
	while ((site = plh_profile_image_next_site(&image, &position)) != NULL &&
		   site->key.stack == 0)
		;
	unconstify(PlhSiteRecord *, site)->key.stack = PLH_FORMER_STACKS;
	return profile;
}

static void
test_layout(const OtherLayout *layout, const char *name)
{
	PlhProfileHeader *profile = make_profile_with_former_stack();
	Rewriting	rewriting = rewrite(profile, layout);
	Size		bytes = rewriting.bytes;
	PlhMovedRecords *moved_records;
	PlhProfileHeader *converted;

	ok(plh_profile_layouts_are_known((PlhProfileHeader *) rewriting.copy), name);
	converted = plh_profile_layouts_convert((PlhProfileHeader *) rewriting.copy,
											&bytes, &moved_records);
	ok_unbroken(compare_profiles(profile, converted, bytes),
				"a converted profile has the same header, sites and what they refer to");
	compare_parts(profile, converted, bytes);
	compare_examples(layout, profile, converted, bytes);
	ok(moved_records != NULL, "the records of a converted profile have moved");
	ok_unbroken(compare_baselines(&rewriting, profile, converted, bytes,
								  moved_records),
				"the baseline of a converted profile refers to the moved records");
	free(profile);
	forget_memory();
}

/* A profile of our own layout stays where it is. */
static void
test_own_layout(void)
{
	PlhProfileHeader *profile = make_profile(SITES, SEED);
	Size		bytes = profile->used_bytes;
	PlhMovedRecords *moved_records;

	ok(plh_profile_layouts_convert(profile, &bytes, &moved_records) == profile &&
	   bytes == profile->used_bytes && moved_records == NULL,
	   "a profile of our layout is not copied");
	profile->layout_version = PLH_LAYOUT_VERSION + 1;
	ok(!plh_profile_layouts_are_known(profile), "a later layout is not known");
	profile->layout_version = PLH_OLDEST_LAYOUT - 1;
	ok(!plh_profile_layouts_are_known(profile), "an older layout is not known");
	free(profile);
	forget_memory();
}

/* What the layout before did not have is not known. */
static void
test_new_figures(void)
{
	PlhProfileHeader header;

	memset(&header, 0x7F, sizeof(header));
	header.layout_version = 7;
	plh_profile_layouts_convert_header(&header);
	ok(header.unsampled_bytes == -1,
	   "layout 7 does not tell what was allocated before sampling began");
	header.layout_version = PLH_LAYOUT_VERSION;
	header.header_bytes = sizeof(header);
	header.unsampled_bytes = 5;
	plh_profile_layouts_convert_header(&header);
	ok(header.unsampled_bytes == 5,
	   "our layout tells what was allocated before sampling began");
	header.header_bytes = offsetof(PlhProfileHeader, unsampled_bytes);
	plh_profile_layouts_convert_header(&header);
	ok(header.unsampled_bytes == -1,
	   "a header that ends before a figure does not tell it");
	ok(header.history[PLH_HISTORY_POINTS - 1].live_bytes ==
	   INT64CONST(0x7F7F7F7F7F7F7F7F), "layout 7 has its history to the last point");
}

void
test_layouts(void)
{
	static const OtherLayout former = {
		.version = 7,
		.record_change = {
			[PLH_RECORD_SITE] = -(int) (sizeof(PlhSiteRecord) - offsetof(PlhSiteRecord, births)),
			[PLH_RECORD_CONTEXT] = -(int) (sizeof(PlhContextRecord) - offsetof(PlhContextRecord, examples))
		}
	};
	static const OtherLayout longer = {
		.version = PLH_LAYOUT_VERSION,
		.header_change = 64,
		.record_change = {
			[PLH_RECORD_SITE] = 16,
			[PLH_RECORD_STACK] = 8,
			[PLH_RECORD_STRING] = 8,
			[PLH_RECORD_MODULE] = 8,
			[PLH_RECORD_CONTEXT] = 24,
			[PLH_RECORD_COURSE] = 8,
			[PLH_RECORD_EXAMPLE] = 16
		}
	};
	static const OtherLayout shorter = {
		.version = PLH_LAYOUT_VERSION,
		.header_change = -8,
		.record_change = {[PLH_RECORD_SITE] = -8}
	};

	test_layout(&former, "layout 7 is known");
	test_layout(&longer, "a later version's longer records are known");
	test_layout(&shorter, "an earlier version's shorter records are known");
	test_own_layout();
	test_new_figures();
}
