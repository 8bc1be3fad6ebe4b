/*
 * filled_profile.c
 *	  A profile that tests fill with sites of numbered stacks and statements, and what
 *	  must be true of it.
 */
#include "postgres.h"

#include <time.h>

#include "base/settings.h"
#include "profile/profile_counters.h"
#include "profile/profile_image.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "births.h"
#include "filled_profile.h"
#include "tap.h"

PlhSiteRecord *
site_at(uint32 offset)
{
	return (PlhSiteRecord *) ((char *) plh_profile + offset);
}

void
begin_filling(int max_profile_size)
{
	plh_load_settings.max_profile_size = max_profile_size;
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
}

void
end_filling(void)
{
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_load_settings.max_profile_size = 1024 * 1024;
}

uint32
filled_stack(int number, int depth)
{
	PlhStack	stack = {0};

	stack.addresses = stack.buffer;
	stack.depth = depth;
	stack.truncated = false;
	for (int i = 0; i < stack.depth; i++)
		stack.buffer[i] = 0x1000 * (number + 1) + i;
	return plh_profile_stack(&stack);
}

uint32
numbered_stack(int number)
{
	return filled_stack(number, 3 + number % 20);
}

/* As the hooks look up a site; without room it is the catch-all site. */
uint32
filled_site(int stack, const char *statement)
{
	PlhSiteKey	key = {0};

	key.stack = numbered_stack(stack);
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	if (statement != NULL)
		key.statement = plh_profile_statement(0, statement);
	if (key.stack == 0 || key.context_name == 0)
		return plh_profile->catch_all_site;
	return plh_profile_site(&key);
}

const char *
numbered_text(int number)
{
	static char text[256];

	snprintf(text, sizeof(text), "SELECT x%d%.*s", number, number % 120,
			 "                                                            "
			 "                                                            ");
	return text;
}

const char *
text_of_site(uint32 site)
{
	const PlhStatementRecord *statement =
		plh_profile_image_statement(plh_profile_image_own(plh_profile),
									site_at(site)->key.statement);

	return statement == NULL ? "" : statement->text;
}

/* A whole round, and what it gave up can be used from then on. */
void
run_round(void)
{
	plh_profile_recycling_suspend();
	plh_profile_recycling_resume();
}

/* Count the references of sites to a record. */
static uint32
count_references(const PlhProfileImage *image, uint32 offset)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	uint32		count = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		count += site->key.stack == offset || site->key.statement == offset;
	return count;
}

/* Count the sites that have the same key as this one. */
static uint32
count_same_key(const PlhProfileImage *image, const PlhSiteKey *key)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	uint32		count = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		count += memcmp(&site->key, key, sizeof(*key)) == 0;
	return count;
}

/* The sites add up to the process, and refer to what is there. */
const char *
check_filled_profile(bool references_too)
{
	PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhProfileHeader *header = plh_profile;
	PlhCounters sums = {0};
	const PlhSiteRecord *site;
	const char *broken = NULL;
	int64		peak_bytes = 0;
	uint32		position = 0;
	uint32		count = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		const PlhRecord *statement = (const PlhRecord *)
			plh_profile_image_statement(image, site->key.statement);
		const PlhRecord *stack = (const PlhRecord *)
			plh_profile_image_stack(image, site->key.stack);

		count++;
		sums.live_bytes += site->counters.live_bytes;
		sums.live_count += site->counters.live_count;
		sums.live_samples += site->counters.live_samples;
		sums.total_bytes += site->counters.total_bytes;
		sums.total_count += site->counters.total_count;
		sums.total_samples += site->counters.total_samples;
		peak_bytes += plh_site_peak_bytes(image->header, site);
		REQUIRE(broken, (site->key.statement != 0) == (statement != NULL));
		REQUIRE(broken, (site->key.stack > PLH_FORMER_STACKS) == (stack != NULL));
		REQUIRE(broken, stack == NULL || stack->born <= site->record.born);
		REQUIRE(broken, statement == NULL || statement->born <= site->record.born);
		if (references_too && statement != NULL)
			REQUIRE(broken, statement->references ==
					count_references(image, site->key.statement));
		if (references_too)
			REQUIRE(broken, count_same_key(image, &site->key) == 1);
		if (references_too && stack != NULL)
			REQUIRE(broken, stack->references ==
					count_references(image, site->key.stack));
	}
	REQUIRE(broken, count == header->site_count + 1);
	REQUIRE(broken, sums.live_bytes == header->counters.live_bytes);
	REQUIRE(broken, sums.live_count == header->counters.live_count);
	REQUIRE(broken, sums.live_samples == header->counters.live_samples);
	REQUIRE(broken, sums.total_bytes == header->counters.total_bytes);
	REQUIRE(broken, sums.total_count == header->counters.total_count);
	REQUIRE(broken, sums.total_samples == header->counters.total_samples);
	REQUIRE(broken, peak_bytes == header->peak_bytes);
	return broken;
}

int64		longest_filling_ns;

uint32
timed_filled_site(int stack, const char *statement)
{
	struct timespec before;
	struct timespec after;
	uint32		site;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	site = filled_site(stack, statement);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	longest_filling_ns = Max(longest_filling_ns, (after.tv_sec - before.tv_sec) * 1000000000LL +
							 after.tv_nsec - before.tv_nsec);
	return site;
}

/* Free what was counted as one sample of a site. */
void
free_sample(uint32 site, Size bytes)
{
	subtract_oldest(site, bytes, exact);
}

/* One allocation of a statement, freed at once. */
uint32
fill_and_free(int stack, const char *statement)
{
	uint32		site = filled_site(stack, statement);

	plh_profile_counters_add(site, BYTES, 0, exact);
	free_sample(site, BYTES);
	return site;
}

/* The most records that share a bucket. */
int
longest_chain(void)
{
	int			longest = 0;

	for (uint32 i = 0; i < plh_profile_records_buckets.count; i++)
	{
		int			length = 0;

		for (uint32 offset = plh_profile_records_buckets.heads[i]; offset != 0;
			 offset = PLH_CHAIN_OF(offset))
			length++;
		longest = Max(longest, length);
	}
	return longest;
}
