/*
 * test_ages.c
 *	  When sites allocated what they hold, by clocks that the test sets.
 */
#include "postgres.h"

#include <math.h>

#include "births.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/site_facts.h"
#include "sampler/live_samples.h"
#include "unit_tests.h"

#define TICK_US (INT64CONST(1) << PLH_TICK_BITS)

/* Samples of the test with chance. */
#define SAMPLES 5000

typedef struct Born
{
	uint32		tick;
	Size		size;
	PlhDraw		draw;
	int64		bytes;
	bool		freed;
} Born;

static const PlhDraw exact = {.interval_bytes = 1};

static MemoryContextData context_data;

static PlhSiteRecord *
site_at(uint32 offset)
{
	return (PlhSiteRecord *) ((char *) plh_profile + offset);
}

static uint32
make_site(const char *context_name)
{
	PlhSiteKey	key = {.context_name = plh_profile_string(context_name, PLH_CONTEXT_NAME_MAX)};

	return plh_profile_site(&key);
}

static void
begin(void)
{
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
}

static void
end(void)
{
	plh_profile_forget();
	plh_profile_counters_forget();
}

/* Are the spans those of all that was born, and of what of that is there? */
static const char *
check_spans(uint32 site, const Born *born, int count)
{
	BirthsOfSite all = births_of(site);
	PlhSpan		expected[PLH_SPANS] = {0};
	const char *broken = NULL;

	for (int i = 0; i < count; i++)
	{
		uint32		span = ((born[i].tick - all.births.first_tick) & ((1 << PLH_BIRTH_BITS) - 1)) >> all.births.shift;

		REQUIRE(broken, span < PLH_SPANS);
		if (broken != NULL)
			return broken;
		expected[span].total_bytes += born[i].bytes;
		expected[span].live_bytes += born[i].freed ? 0 : born[i].bytes;
	}
	REQUIRE(broken, memcmp(expected, all.spans, sizeof(expected)) == 0);
	return broken;
}

/* Samples of all sizes come and go, over seconds, days and years. */
static void
test_spans(void)
{
	static Born born[SAMPLES];
	pg_prng_state prng;
	const char *broken = NULL;
	uint32		site;

	begin();
	pg_prng_seed(&prng, 1);
	site = make_site("spans");
	for (int i = 0; i < SAMPLES; i++)
	{
		int			other = pg_prng_uint64_range(&prng, 0, i);

		pass_time(pg_prng_uint64_range(&prng, 0, i < SAMPLES / 2 ? TICK_US / 100 : i < SAMPLES * 3 / 4 ? 1000 * TICK_US : 200000 * TICK_US));
		born[i].size = pg_prng_uint64_range(&prng, 1, 10000);
		born[i].draw = plh_sampling_draw(&prng, born[i].size, 4096);
		born[i].bytes = (int64) born[i].size *
			plh_sampling_value(born[i].size, born[i].draw).weight;
		born[i].tick = plh_profile_counters_add(site, born[i].size, 0, born[i].draw) & ((1 << PLH_BIRTH_BITS) - 1);
		if (!born[other].freed)
			plh_profile_counters_subtract(site, born[other].size, born[other].draw,
										  born[other].tick);
		born[other].freed = true;
		if (broken == NULL && i % 50 == 0)
			broken = check_spans(site, born, i + 1);
	}
	ok_unbroken(broken, "spans are what was born in them, and what of that is left");
	ok(births_of(site).births.shift > 10 && births_of(site).spans[PLH_SPANS / 2].total_bytes > 0,
	   "spans become longer, and at least half of them are used");
	ok(plh_site_facts_ages_add_up(site_at(site), plh_profile_records_at(site_at(site)->spans)),
	   "the spans add up to what the site holds");
	end();
}

/* What is known of each time, by the clock on the wall. */
static void
test_times(void)
{
	PlhSiteAge	ages[PLH_SPANS];
	TimestampTz began;
	uint32		site;
	int			count;
	PlhSiteRecord damaged;

	begin();
	site = make_site("times");
	pass_time(10 * TICK_US);
	plh_profile_counters_add(site, 1000, 0, exact);
	began = wall_clock();
	pass_time(5 * TICK_US);
	plh_profile_counters_add(site, 300, 0, exact);
	count = plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), site_at(site), wall_clock());
	ok(count == 2 && ages[0].live_bytes == 1000 && ages[1].live_bytes == 300 &&
	   ages[0].total_bytes == 1000 && ages[0].error_bytes == 0,
	   "a site has an age for each span in which it allocated");
	ok(ages[0].from <= began && ages[0].from > began - 2 * TICK_US &&
	   ages[0].until == ages[0].from + TICK_US &&
	   ages[1].from == ages[0].from + 5 * TICK_US && ages[1].until == wall_clock(),
	   "an age is between two times, and the last not later than now");
	set_wall_clock(-USECS_PER_HOUR);
	pass_time(TICK_US);
	plh_profile_counters_add(site, 1, 0, exact);
	count = plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), site_at(site), wall_clock());
	ok(count == 3 && ages[0].from > wall_clock() - 9 * TICK_US,
	   "ages stay what they are when the clock is set back");
	set_wall_clock(USECS_PER_HOUR);

	damaged = *site_at(site);
	damaged.counters.live_bytes++;
	ok(plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), &damaged, wall_clock()) == 0,
	   "spans that do not add up tell no ages");
	damaged = *site_at(site);
	damaged.spans = site;
	ok(plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), &damaged, wall_clock()) == 1 &&
	   ages[0].live_bytes == site_at(site)->counters.live_bytes,
	   "a site whose spans can't be had has one age");
	plh_profile_counters_add(make_site("young"), 7, 0, exact);
	damaged = *site_at(make_site("young"));
	ok(plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), &damaged, wall_clock()) == 1 &&
	   ages[0].live_bytes == 7, "a site of one sample has one age");
	damaged.births.shift = 60;
	ok(plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), &damaged, wall_clock()) == 0,
	   "spans of impossible lengths tell no ages");
	memset(&damaged.births, 0, sizeof(PlhSiteRecord) - offsetof(PlhSiteRecord, births));
	ok(plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), &damaged, wall_clock()) == 0,
	   "a site of a version without births tells no ages");
	end();
}

/* A site has spans of its own where it needs them, and where there is room. */
static void
test_room(void)
{
	PlhSiteAge	ages[PLH_SPANS];
	PlhProfileImage image;
	uint32		site;

	begin();
	site = make_site("room");
	plh_profile_counters_add(site, 1000, 0, exact);
	plh_profile_counters_add(site, 100, 0, exact);
	ok(site_at(site)->spans == 0, "samples of one time need no record of spans");
	plh_profile_records_limit(plh_profile_records_bytes_in_use());
	pass_time(10 * TICK_US);
	plh_profile_counters_subtract(site, 100, exact, plh_profile_counters_add(site, 100, 0, exact));
	ok(site_at(site)->spans == 0 &&
	   plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), site_at(site), wall_clock()) == 1 &&
	   ages[0].live_bytes == 1100 && ages[0].total_bytes == 1200,
	   "a site without room for spans has one age, of all that it allocated");
	plh_profile_records_limit(0);
	pass_time(10 * TICK_US);
	plh_profile_counters_add(site, 7, 0, exact);
	ok(site_at(site)->spans != 0 &&
	   plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), site_at(site), wall_clock()) == 2 &&
	   ages[0].live_bytes == 1100 && ages[0].total_bytes == 1200 &&
	   ages[1].live_bytes == 7 && ages[1].total_bytes == 7,
	   "a site gets spans when there is room");
	image = *plh_profile_image_own(plh_profile);
	image.bytes = site_at(site)->spans;
	ok(plh_site_facts_ages(ages, &image, site_at(site), wall_clock()) == 1 &&
	   ages[0].live_bytes == 1107 && ages[0].total_bytes == 1207,
	   "a site whose spans are behind a copy has one age");
	end();
}

/* The error of a part of a site is that of as many samples as are in it. */
static void
test_errors(void)
{
	PlhSiteAge	ages[PLH_SPANS];
	PlhDraw		draw = {.interval_bytes = 512 * 1024};
	double		one_sample;
	double		all;
	uint32		site;
	int			count;

	begin();
	site = make_site("errors");
	plh_profile_counters_add(site, 100, 0, draw);
	pass_time(2 * TICK_US);
	for (int i = 0; i < 99; i++)
		plh_profile_counters_add(site, 100, 0, draw);
	count = plh_site_facts_ages(ages, plh_profile_image_own(plh_profile), site_at(site), wall_clock());
	one_sample = plh_sampling_error_bytes(site_at(site)->counters.live_variance / 100,
										  ages[0].live_bytes, 1);
	all = plh_sampling_error_bytes(site_at(site)->counters.live_variance,
								   site_at(site)->counters.live_bytes, 100);
	ok(count == 2 && fabs(ages[0].error_bytes - one_sample) < 2 &&
	   ages[1].error_bytes < all && ages[1].error_bytes > 0.98 * all,
	   "a span has the error of its own samples");
	end();
}

static PlhLiveSample *
record(PlhWatchedContext *watched, int i, uint32 site)
{
	PlhLiveSample *sample = plh_live_samples_insert(watched, fake_pointer(i), 10, exact, site);

	sample->tick = plh_profile_counters_add(site, 10, 0, exact);
	return sample;
}

static void
drop(void *arg)
{
	plh_live_samples_drop_context(arg);
}

/* What hooks do: a free, a realloc, the reset of a context, a fork. */
static void
test_samples(void)
{
	PlhWatchedContext *watched;
	BirthsOfSite all;
	uint32		site;

	ok(!plh_live_samples_insert(NULL, fake_pointer(0), UINT64CONST(1) << PLH_SAMPLE_SIZE_BITS, exact, 0),
	   "a chunk that is too large is no live sample");
	begin();
	plh_live_samples_start(16, drop);
	site = make_site("samples");
	watched = plh_live_samples_watch(&context_data, PLH_LIFETIME_SESSION);
	for (int i = 0; i < 3; i++)
	{
		(void) record(watched, 2 * i, site);
		(void) record(watched, 2 * i + 1, site);
		pass_time(TICK_US);
	}
	all = births_of(site);
	ok(all.spans[0].live_bytes == 20 && all.spans[1].live_bytes == 20 && all.spans[2].live_bytes == 20,
	   "samples are in the spans of their births");
	plh_live_samples_remove(fake_pointer(2));
	all = births_of(site);
	ok(all.spans[1].live_bytes == 10 && all.spans[1].total_bytes == 20,
	   "a sample that is freed goes from the span of its birth");

	/* the hooks record the new chunk when the sample of the old one is gone */
	plh_live_samples_remove(fake_pointer(0));
	(void) record(watched, 0, site);
	all = births_of(site);
	ok(all.spans[0].live_bytes == 10 && all.spans[3].live_bytes == 10,
	   "a chunk that realloc has resized is born then");
	plh_live_samples_drop_context(watched);
	all = births_of(site);
	ok(site_at(site)->counters.live_bytes == 0 &&
	   plh_site_facts_ages_add_up(site_at(site), plh_profile_records_at(site_at(site)->spans)) &&
	   all.spans[0].total_bytes == 20, "samples go with their context from the spans of their births");

	watched = plh_live_samples_watch(&context_data, PLH_LIFETIME_SESSION);
	(void) record(watched, 1, site);
	end();
	plh_live_samples_forget();
	begin();
	site = make_site("samples");
	ok(births_of(site).spans[0].total_bytes == 0, "a forked child begins without births");
	pass_time(100 * TICK_US);
	(void) record(watched, 1, site);
	ok(births_of(site).spans[0].live_bytes == 10 && births_of(site).births.shift == 0,
	   "the spans of a forked child begin with its first sample");
	plh_live_samples_drop_context(watched);
	end();
	plh_live_samples_forget();
}

void
test_ages(void)
{
	test_spans();
	test_times();
	test_room();
	test_errors();
	test_samples();
}
