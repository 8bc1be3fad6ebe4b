/*
 * test_recycling.c
 *	  Records that are given up and used again: what they held is not lost, and
 *	  nothing that is still needed goes.
 */
#include "postgres.h"

#include <time.h>

#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_image.h"
#include "profile/profile_recycling.h"
#include "unit_tests.h"

#define BYTES 10				/* of a sample */

static const PlhDraw exact = {.interval_bytes = 1};

static PlhSiteRecord *
site_at(uint32 offset)
{
	return (PlhSiteRecord *) ((char *) plh_profile + offset);
}

static void
begin(int max_profile_size)
{
	plh_fixed.max_profile_size = max_profile_size;
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
}

static void
end(void)
{
	plh_profile_forget();
	plh_profile_counters_forget();
	plh_fixed.max_profile_size = 1024 * 1024;
}

static uint32
stack_of_depth(int number, int depth)
{
	PlhStack	stack = {0};

	stack.addresses = stack.buffer;
	stack.depth = depth;
	stack.truncated = false;
	for (int i = 0; i < stack.depth; i++)
		stack.buffer[i] = 0x1000 * (number + 1) + i;
	return plh_profile_stack(&stack);
}

static uint32
stack_of(int number)
{
	return stack_of_depth(number, 3 + number % 20);
}

/* As the hooks look up a site; without room it is the catch-all site. */
static uint32
site_of(int stack, const char *statement)
{
	PlhSiteKey	key = {0};

	key.stack = stack_of(stack);
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	if (statement != NULL)
		key.statement = plh_profile_statement(0, statement);
	if (key.stack == 0 || key.context_name == 0)
		return plh_profile->catch_all_site;
	return plh_profile_site(&key);
}

static const char *
text_of(int number)
{
	static char text[256];

	snprintf(text, sizeof(text), "SELECT x%d%.*s", number, number % 120,
			 "                                                            "
			 "                                                            ");
	return text;
}

static const char *
statement_text(uint32 site)
{
	const PlhStatementRecord *statement =
		plh_profile_image_statement(plh_profile_image_own(plh_profile),
									site_at(site)->key.statement);

	return statement == NULL ? "" : statement->text;
}

/* A whole round, and what it gave up can be used from then on. */
static void
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
static const char *
check_profile(bool references_too)
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

/* The longest that any of the calls took, for whoever reads the output. */
static int64 longest_ns;

static uint32
timed_site_of(int stack, const char *statement)
{
	struct timespec before;
	struct timespec after;
	uint32		site;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	site = site_of(stack, statement);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	longest_ns = Max(longest_ns, (after.tv_sec - before.tv_sec) * 1000000000LL +
					 after.tv_nsec - before.tv_nsec);
	return site;
}

/*
 * A session that runs many statements, each of which holds something until the
 * next one, and some for good.  Then a leak begins.
 */
static void
test_many_statements(void)
{
	enum
	{
		STATEMENTS = 200000, STACKS = 50, KEPT_PART = 1000
	};
	static uint32 kept[STATEMENTS / KEPT_PART];
	const char *broken = NULL;
	uint32		former = 0;
	uint32		leak;

	begin(8 * 1024 * 1024);
	longest_ns = 0;
	for (int i = 0; i < STATEMENTS; i++)
	{
		uint32		site = timed_site_of(i % STACKS, text_of(i));

		plh_profile_counters_add(site, BYTES, exact);
		if (former != 0)
			plh_profile_counters_subtract(former, BYTES, exact);
		former = site;
		if (i % KEPT_PART == 0)
		{
			kept[i / KEPT_PART] = site;
			former = 0;
		}
	}
	printf("# %u rounds, %u bytes, %u sites, no call longer than " INT64_FORMAT " us\n",
		   plh_profile->round, plh_profile->used_bytes,
		   plh_profile->site_count, longest_ns / 1000);
	ok(plh_profile->round > 10, "records are recycled, round after round");
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == 0,
	   "no statement is one too many");
	ok(plh_profile->used_bytes < 1536 * 1024,
	   "and the profile stays far smaller than it may become");
	ok_unbroken(check_profile(true), "the sites still add up to the process");
	for (int i = 0; i < lengthof(kept); i++)
	{
		PlhSiteRecord *site = site_at(kept[i]);

		REQUIRE(broken, site->counters.live_bytes == BYTES);
		REQUIRE(broken, site->counters.total_bytes == BYTES);
		REQUIRE(broken, strcmp(statement_text(kept[i]),
							   text_of(i * KEPT_PART)) == 0);
	}
	ok_unbroken(broken, "what is held is where it was, with its statement");

	leak = site_of(STACKS + 1, "SELECT leak()");
	for (int i = 0; i < 1000; i++)
		plh_profile_counters_add(leak, BYTES, exact);
	ok(leak != plh_profile->catch_all_site &&
	   site_at(leak)->counters.live_bytes == 1000 * BYTES &&
	   strcmp(statement_text(leak), "SELECT leak()") == 0,
	   "and a leak that begins then is a site");
	end();
}

/* One allocation of a statement, freed at once. */
static uint32
pass(int stack, const char *statement)
{
	uint32		site = site_of(stack, statement);

	plh_profile_counters_add(site, BYTES, exact);
	plh_profile_counters_subtract(site, BYTES, exact);
	return site;
}

/* What a site that is given up had goes to the one without a statement. */
static void
test_totals(void)
{
	uint32		held;
	uint32		heir;

	begin(1024 * 1024);
	held = site_of(1, "SELECT x0");
	plh_profile_counters_add(held, BYTES, exact);
	(void) pass(1, "SELECT x1");
	(void) pass(1, "SELECT x2");
	(void) pass(1, NULL);
	(void) pass(2, "SELECT x3");
	ok(plh_profile->site_count == 5, "five sites");
	/* the peak was in one of them: it must be over */
	plh_profile_counters_add(held, 2 * BYTES, exact);
	run_round();
	ok(plh_profile->site_count == 3, "are three when those are given up that hold nothing");
	heir = site_of(1, NULL);
	ok(site_at(heir)->counters.total_bytes == 3 * BYTES &&
	   site_at(heir)->counters.total_count == 3,
	   "the one without a statement has what they allocated");
	ok(site_at(site_of(2, NULL))->counters.total_bytes == BYTES,
	   "or one becomes that without a statement");
	ok(site_at(held)->counters.live_bytes == 3 * BYTES,
	   "who holds something stays");
	ok_unbroken(check_profile(true), "and all add up");

	heir = site_of(2, NULL);
	plh_profile->epoch = 1000;
	plh_profile_counters_add(heir, BYTES, exact);
	ok(site_at(heir)->epochs == 1 && site_at(heir)->first_epoch >= 1000,
	   "an heir's course begins with its own samples");
	end();
}

/* The peak stays known by its statement, until room becomes short. */
static void
test_peak(void)
{
	uint32		peak;
	int			stacks = 1;

	begin(128 * 1024);
	peak = site_of(1, "SELECT peak");
	plh_profile_counters_add(peak, 1000 * BYTES, exact);
	plh_profile_counters_subtract(peak, 1000 * BYTES, exact);
	for (int i = 0; i < 100; i++)
		(void) pass(1, text_of(i));
	run_round();
	ok(strcmp(statement_text(peak), "SELECT peak") == 0,
	   "what was held at the peak keeps its statement");
	ok_unbroken(check_profile(true), "and the peaks of the sites add up");

	while (plh_profile->used_bytes < plh_fixed.max_profile_size * 0.85)
	{
		plh_profile_counters_add(site_of(++stacks, NULL), 1, exact);
	}
	run_round();
	run_round();
	ok(site_at(peak)->record.kind != PLH_RECORD_SITE ||
	   site_at(peak)->key.statement == 0,
	   "where room is short it goes without");
	ok(plh_site_peak_bytes(plh_profile, site_at(site_of(1, NULL))) == 1000 * BYTES,
	   "and its stack has the peak");
	ok_unbroken(check_profile(true), "the peaks of the sites add up again");
	end();
}

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

	begin(512 * 1024);
	longest_ns = 0;
	for (int i = 0; i < SITES; i++)
	{
		sites[i] = timed_site_of(i, text_of(i % 100));
		plh_profile_counters_add(sites[i], BYTES, exact);
	}
	lost = plh_profile->lost_samples[PLH_LOSS_PROFILE];
	ok(lost > 0, "a profile of what is held becomes full");
	ok(plh_profile->used_bytes <= plh_fixed.max_profile_size,
	   "and no larger than it may");
	ok_unbroken(check_profile(false), "nothing of the total is lost");
	printf("# full, no call longer than " INT64_FORMAT " us\n", longest_ns / 1000);
	for (int i = 0; i < SITES; i++)
		plh_profile_counters_subtract(sites[i], BYTES, exact);
	for (tries = 0; tries < 1000; tries++)
		if (pass(SITES + tries, NULL) != plh_profile->catch_all_site)
			break;
	ok(tries < 300, "when it is freed there is room again");
	lost = plh_profile->lost_samples[PLH_LOSS_PROFILE];
	for (int i = 0; i < SITES; i++)
		(void) pass(i, text_of(i % 100));
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == lost, "and it stays");
	ok_unbroken(check_profile(false), "and all add up");
	end();
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

	begin(512 * 1024);
	for (int i = 0; i < SITES; i++)
	{
		sites[i] = site_of(i % 40 * 20, text_of(i * 120));
		plh_profile_counters_add(sites[i], BYTES, exact);
	}
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] > 0, "full of small records");
	for (int i = 0; i < SITES; i++)
		plh_profile_counters_subtract(sites[i], BYTES, exact);
	for (int tries = 0; tries < 1000; tries++)
	{
		PlhSiteKey	key = {0};

		key.stack = stack_of_depth(SITES + tries % DEEP, PLH_MAX_FRAMES);
		key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
		if (key.stack == 0)
			continue;
		sites[0] = plh_profile_site(&key);
		if (sites[0] == plh_profile->catch_all_site ||
			site_at(sites[0])->counters.live_count > 0)
			continue;
		plh_profile_counters_add(sites[0], BYTES, exact);
		found++;
	}
	ok(found == DEEP, "when these are freed there is room for the deepest stacks");
	ok_unbroken(check_profile(true), "and all add up");
	end();
}

/*
 * A site that is looked up while recycling makes the same one of another, which
 * loses its statement, is there once.
 */
static void
test_twins(void)
{
	begin(1024 * 1024);
	for (int i = 0; i < 100000; i++)
		(void) pass(i / 4, i % 4 == 3 ? NULL : text_of(i));
	ok_unbroken(check_profile(true), "no site is there twice");
	end();
}

/* Stacks without end, as of code that is compiled for each query. */
static void
test_stacks(void)
{
	PlhProfileImage *image;
	const PlhSiteRecord *site;
	const PlhSiteRecord *former = NULL;
	uint32		position = 0;

	begin(512 * 1024);
	for (int i = 0; i < 50000; i++)
		(void) pass(i, text_of(i % 7));
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == 0,
	   "no stack is one too many");
	ok(plh_profile->used_bytes <= plh_fixed.max_profile_size,
	   "of more than the profile has room for");
	ok_unbroken(check_profile(true), "and the sites add up");
	image = plh_profile_image_own(plh_profile);
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		if (site->key.stack == PLH_FORMER_STACKS)
			former = site;
	ok(former != NULL && former->counters.total_count > 40000 &&
	   former->counters.live_samples == 0,
	   "one site has what the former stacks allocated");
	end();
}

/* A statement that was looked up is kept until another is. */
static void
test_pins(void)
{
	PlhSiteKey	key = {0};
	uint32		statement;

	begin(1024 * 1024);
	statement = plh_profile_statement(0, "SELECT pinned");
	run_round();
	run_round();
	key.stack = stack_of(1);
	run_round();
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	key.statement = statement;
	plh_profile_counters_add(plh_profile_site(&key), BYTES, exact);
	ok(strcmp(statement_text(plh_profile_site(&key)), "SELECT pinned") == 0 &&
	   plh_profile_site(&key) != plh_profile->catch_all_site,
	   "a stack and a statement stay until they are referred to");
	(void) plh_profile_statement(0, "SELECT another");
	(void) plh_profile_statement(0, "SELECT a third");
	run_round();
	ok(plh_profile_statement(0, "SELECT pinned") == statement,
	   "and as long as they are");
	ok_unbroken(check_profile(true), "those of no site go");
	end();
}

/* The site of a stack that is remembered is found, whatever became of the last one. */
static void
test_known_site(void)
{
	PlhKnownStack known = {0};
	PlhSiteKey	key = {0};
	uint32		first;
	uint32		second;

	begin(1024 * 1024);
	key.stack = stack_of(1);
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	first = plh_profile_site_of(&known, &key);
	plh_profile_counters_add(first, BYTES, exact);
	ok(plh_profile_site_of(&known, &key) == first &&
	   plh_profile_site(&key) == first, "a stack has its site");
	key.statement = plh_profile_statement(0, "SELECT x1");
	second = plh_profile_site_of(&known, &key);
	ok(second != first && plh_profile_site(&key) == second,
	   "another one with a statement");

	/* that one has no samples, and goes; its statement stays for another */
	plh_profile_counters_add(site_of(2, "SELECT x1"), BYTES, exact);
	run_round();
	run_round();
	ok(site_at(second)->record.kind != PLH_RECORD_SITE, "a site was given up");
	second = plh_profile_site_of(&known, &key);
	ok(second == plh_profile_site(&key) &&
	   site_at(second)->record.kind == PLH_RECORD_SITE, "and made anew");
	plh_profile_counters_add(second, BYTES, exact);
	plh_profile_counters_subtract(second, BYTES, exact);
	for (int i = 0; i < 2000; i++)
		(void) pass(2, text_of(i));
	run_round();
	key.statement = plh_profile_statement(0, "SELECT x1");
	second = plh_profile_site_of(&known, &key);
	ok(site_at(second)->key.statement == key.statement,
	   "also where it became one without a statement");
	end();
}

/* A leak check compares sites by their offsets. */
static void
test_suspended(void)
{
	const char *broken = NULL;
	uint32		first;
	uint32		round;

	begin(1024 * 1024);
	(void) pass(1, "SELECT former");
	plh_profile_recycling_suspend();
	ok(plh_profile->round == 1, "a round comes before all stays as it is");
	first = pass(1, "SELECT first");
	round = plh_profile->round;
	for (int i = 0; i < 3000; i++)
	{
		(void) pass(2, text_of(i));
		REQUIRE(broken, strcmp(statement_text(first), "SELECT first") == 0);
	}
	REQUIRE(broken, plh_profile->round == round);
	ok_unbroken(broken, "and no site is given up meanwhile");
	plh_profile_recycling_resume();
	for (int i = 0; i < 3000; i++)
		(void) pass(2, text_of(3000 + i));
	ok(plh_profile->round > round, "but afterwards");
	end();
}

void
test_recycling(void)
{
	test_many_statements();
	test_totals();
	test_peak();
	test_full();
	test_pieces();
	test_twins();
	test_stacks();
	test_pins();
	test_known_site();
	test_suspended();
}
