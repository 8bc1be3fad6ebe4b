/*
 * test_full_profiles.c
 *	  Profiles that hold as much as they may: they have room again when that is freed,
 *	  and what finds no room is counted.
 */
#include "postgres.h"

#include "base/settings.h"
#include "profile/profile_image.h"
#include "filled_profile.h"
#include "unit_tests.h"

/* A profile that is full of what is held has room again when that is freed. */
static void
test_full(void)
{
	enum
	{
		SITES = 5000
	};
	static uint32 sites[SITES];
	int64		lost;
	int			tries;

	begin_filling(512 * 1024);
	longest_filling_ns = 0;
	for (int i = 0; i < SITES; i++)
	{
		sites[i] = timed_filled_site(i, numbered_text(i % 100));
		plh_profile_counters_add(sites[i], BYTES, 0, exact);
	}
	lost = plh_profile->lost_samples[PLH_LOSS_PROFILE];
	ok(lost > 0, "a profile of what is held becomes full");
	ok(plh_profile->used_bytes <= plh_load_settings.max_profile_size,
	   "a full profile is no larger than it may become");
	ok_unbroken(check_filled_profile(false), "a full profile loses nothing of the total");
	printf("# full, no call longer than " INT64_FORMAT " us\n", longest_filling_ns / 1000);
	for (int i = 0; i < SITES; i++)
		free_sample(sites[i], BYTES);
	for (tries = 0; tries < 1000; tries++)
		if (fill_and_free(SITES + tries, NULL) != plh_profile->catch_all_site)
			break;

	/*
	 * in two rounds, before each of which stacks want a 16th of the profile
	 * in vain
	 */
	ok(tries < 500, "a full profile has room again when chunks are freed");
	lost = plh_profile->lost_samples[PLH_LOSS_PROFILE];
	for (int i = 0; i < SITES; i++)
		(void) fill_and_free(i, numbered_text(i % 100));
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == lost, "a profile with room again loses no further samples");
	ok_unbroken(check_filled_profile(false), "the sites of a profile with room again add up");
	end_filling();
}

/*
 * A profile that is full of small records has room for large ones, too, when
 * nothing is held there any more.
 */
static void
test_pieces(void)
{
	enum
	{
		SITES = 5000, DEEP = 200
	};
	static uint32 sites[SITES];
	uint32		found = 0;

	begin_filling(512 * 1024);
	for (int i = 0; i < SITES; i++)
	{
		sites[i] = filled_site(i % 40 * 20, numbered_text(i * 120));
		plh_profile_counters_add(sites[i], BYTES, 0, exact);
	}
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] > 0, "a profile of small records becomes full");
	for (int i = 0; i < SITES; i++)
		free_sample(sites[i], BYTES);
	for (int tries = 0; tries < 1000; tries++)
	{
		PlhSiteKey	key = {0};

		key.stack = filled_stack(SITES + tries % DEEP, PLH_MAX_FRAMES);
		key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
		if (key.stack == 0)
			continue;
		sites[0] = plh_profile_site(&key);
		if (sites[0] == plh_profile->catch_all_site ||
			site_at(sites[0])->counters.live_count > 0)
			continue;
		plh_profile_counters_add(sites[0], BYTES, 0, exact);
		found++;
	}
	ok(found == DEEP, "room of small records that are given up is enough for the deepest stacks");
	ok_unbroken(check_filled_profile(true), "the sites of the deepest stacks add up");
	end_filling();
}

/* Stacks without end_filling, as of code that is compiled for each query. */
static void
test_stacks(void)
{
	PlhProfileImage *image;
	const PlhSiteRecord *site;
	const PlhSiteRecord *former = NULL;
	uint32		position = 0;

	begin_filling(512 * 1024);
	for (int i = 0; i < 50000; i++)
		(void) fill_and_free(i, numbered_text(i % 7));
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == 0,
	   "many stacks lose no sample");
	ok(plh_profile->used_bytes <= plh_load_settings.max_profile_size,
	   "a profile of many stacks is no larger than it may become");
	ok_unbroken(check_filled_profile(true), "the sites of many stacks add up");
	image = plh_profile_image_own(plh_profile);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		if (site->key.stack == PLH_FORMER_STACKS)
			former = site;
	ok(former != NULL && former->counters.total_count > 40000 &&
	   former->counters.live_samples == 0,
	   "one site has what the former stacks allocated");
	end_filling();
}

void
test_full_profiles(void)
{
	test_full();
	test_pieces();
	test_stacks();
}
