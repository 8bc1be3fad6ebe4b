/*
 * test_recycling.c
 *	  Records that are given up and used again: what they held is not lost, and
 *	  nothing that is still needed goes.
 */
#include "postgres.h"

#include "base/settings.h"
#include "births.h"
#include "profile/profile_recycling.h"
#include "colliding_texts.h"
#include "filled_profile.h"
#include "unit_tests.h"

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

	begin_filling(8 * 1024 * 1024);
	longest_filling_ns = 0;
	for (int i = 0; i < STATEMENTS; i++)
	{
		uint32		site = timed_filled_site(i % STACKS, numbered_text(i));

		plh_profile_counters_add(site, BYTES, 0, exact);
		if (former != 0)
			free_sample(former, BYTES);
		former = site;
		if (i % KEPT_PART == 0)
		{
			kept[i / KEPT_PART] = site;
			former = 0;
		}
	}
	printf("# %u rounds, %u bytes, %u sites, no call longer than " INT64_FORMAT " us\n",
		   plh_profile->round, plh_profile->used_bytes,
		   plh_profile->site_count, longest_filling_ns / 1000);
	ok(plh_profile->round > 10, "records are recycled, round after round");
	ok(plh_profile->lost_samples[PLH_LOSS_PROFILE] == 0,
	   "many statements lose no sample");
	ok(plh_profile->used_bytes < 1536 * 1024,
	   "a profile of many statements stays far smaller than it may become");
	ok_unbroken(check_filled_profile(true), "the sites of many statements add up to the process");
	for (int i = 0; i < lengthof(kept); i++)
	{
		PlhSiteRecord *site = site_at(kept[i]);

		REQUIRE(broken, site->counters.live_bytes == BYTES);
		REQUIRE(broken, site->counters.total_bytes == BYTES);
		REQUIRE(broken, strcmp(text_of_site(kept[i]),
							   numbered_text(i * KEPT_PART)) == 0);
	}
	ok_unbroken(broken, "a site that holds something keeps its place and its statement");

	leak = filled_site(STACKS + 1, "SELECT leak()");
	for (int i = 0; i < 1000; i++)
		plh_profile_counters_add(leak, BYTES, 0, exact);
	ok(leak != plh_profile->catch_all_site &&
	   site_at(leak)->counters.live_bytes == 1000 * BYTES &&
	   strcmp(text_of_site(leak), "SELECT leak()") == 0,
	   "a leak that begins after many statements has a site");
	end_filling();
}

/* What a site that is given up had goes to the one without a statement. */
static void
test_totals(void)
{
	uint32		held;
	uint32		heir;

	begin_filling(1024 * 1024);
	held = filled_site(1, "SELECT x0");
	plh_profile_counters_add(held, BYTES, 0, exact);
	(void) fill_and_free(1, "SELECT x1");
	(void) fill_and_free(1, "SELECT x2");
	(void) fill_and_free(1, NULL);
	(void) fill_and_free(2, "SELECT x3");
	ok(plh_profile->site_count == 5, "five stacks and statements have five sites");
	/* the peak was in one of them: it must be over */
	plh_profile_counters_add(held, 2 * BYTES, 0, exact);
	run_round();
	ok(plh_profile->site_count == 3, "sites that hold nothing are given up");
	heir = filled_site(1, NULL);
	ok(site_at(heir)->counters.total_bytes == 3 * BYTES &&
	   site_at(heir)->counters.total_count == 3,
	   "the site without a statement has what sites that were given up allocated");
	ok(site_at(filled_site(2, NULL))->counters.total_bytes == BYTES,
	   "a site that is given up becomes that without a statement");
	ok(site_at(held)->counters.live_bytes == 3 * BYTES,
	   "a site that holds something stays");
	ok_unbroken(check_filled_profile(true), "the sites add up after some were given up");

	heir = filled_site(2, NULL);
	plh_profile->epoch = 1000;
	plh_profile_counters_add(heir, BYTES, 0, exact);
	ok(site_at(heir)->epochs == 1 && site_at(heir)->first_epoch >= 1000,
	   "an heir's course begins with its own samples");
	ok(births_of(heir).spans[0].total_bytes == BYTES &&
	   births_of(heir).spans[0].live_bytes == BYTES,
	   "an heir's births are its own");
	end_filling();
}

/* The spans of a site go when it becomes another one, and when it is given up. */
static void
test_spans(void)
{
	uint32		heir;

	begin_filling(1024 * 1024);
	for (int i = 0; i < 2; i++)
	{
		(void) fill_and_free(1, numbered_text(i));
		pass_time(10 * USECS_PER_SEC);
		plh_profile->epoch++;
		(void) fill_and_free(1, numbered_text(i));
	}
	plh_profile_counters_add(filled_site(2, NULL), BYTES, 0, exact);
	plh_profile_counters_add(filled_site(2, NULL), BYTES, 0, exact);
	ok(plh_profile_records_bytes(PLH_RECORD_SPANS) == 2 * sizeof(PlhSpansRecord),
	   "sites of two times have spans");
	run_round();
	heir = filled_site(1, NULL);
	ok(plh_profile->site_count == 2 && site_at(heir)->counters.total_bytes == 4 * BYTES,
	   "sites with spans are recycled");
	ok(plh_profile_records_bytes(PLH_RECORD_SPANS) == 0 && site_at(heir)->spans == 0,
	   "no spans are left of sites that hold nothing");
	ok_unbroken(check_filled_profile(true), "the sites add up without spans");
	end_filling();
}

/* The peak stays known by its statement, until room becomes short. */
static void
test_peak(void)
{
	uint32		peak;
	int			stacks = 1;

	begin_filling(128 * 1024);
	peak = filled_site(1, "SELECT peak");
	plh_profile_counters_add(peak, 1000 * BYTES, 0, exact);
	free_sample(peak, 1000 * BYTES);
	for (int i = 0; i < 100; i++)
		(void) fill_and_free(1, numbered_text(i));
	run_round();
	ok(strcmp(text_of_site(peak), "SELECT peak") == 0,
	   "a site that held something at the peak keeps its statement");
	ok_unbroken(check_filled_profile(true), "the peaks of sites with statements add up");

	while (plh_profile_records_bytes_in_use() < plh_load_settings.max_profile_size * 0.8)
		plh_profile_counters_add(filled_site(++stacks, NULL), 1, 0, exact);
	run_round();
	run_round();
	ok(site_at(peak)->record.kind != PLH_RECORD_SITE ||
	   site_at(peak)->key.statement == 0,
	   "a site that held something at the peak loses its statement where room is short");
	ok(plh_site_peak_bytes(plh_profile, site_at(filled_site(1, NULL))) == 1000 * BYTES,
	   "the stack of a site that lost its statement has the peak");
	ok_unbroken(check_filled_profile(true), "the peaks of the sites add up again");
	end_filling();
}

/*
 * A site that is looked up while recycling makes the same one of another, which
 * loses its statement, is there once.
 */
static void
test_twins(void)
{
	begin_filling(1024 * 1024);
	for (int i = 0; i < 100000; i++)
		(void) fill_and_free(i / 4, i % 4 == 3 ? NULL : numbered_text(i));
	ok_unbroken(check_filled_profile(true), "sites that become the same are one");
	end_filling();
}

/* A statement that was looked up is kept until another is. */
static void
test_pins(void)
{
	PlhSiteKey	key = {0};
	uint32		statement;

	begin_filling(1024 * 1024);
	statement = plh_profile_statement(0, "SELECT pinned");
	run_round();
	run_round();
	key.stack = numbered_stack(1);
	run_round();
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	key.statement = statement;
	plh_profile_counters_add(plh_profile_site(&key), BYTES, 0, exact);
	ok(strcmp(text_of_site(plh_profile_site(&key)), "SELECT pinned") == 0 &&
	   plh_profile_site(&key) != plh_profile->catch_all_site,
	   "a stack and a statement stay until they are referred to");
	(void) plh_profile_statement(0, "SELECT another");
	(void) plh_profile_statement(0, "SELECT a third");
	run_round();
	ok(plh_profile_statement(0, "SELECT pinned") == statement,
	   "a statement stays as long as it is referred to");
	ok_unbroken(check_filled_profile(true), "statements of no site go");
	end_filling();
}

static const char *
text_at(uint32 statement)
{
	return ((const PlhStatementRecord *) plh_profile_records_at(statement))->text;
}

/*
 * The shape of the text that was looked up last is remembered: what comes between two
 * that have the same must not be taken for them.
 */
static void
test_same_shape(void)
{
	uint32		plain;
	uint32		of_id;
	uint32		secret;

	begin_filling(1024 * 1024);
	plain = plh_profile_statement(0, "SELECT f(1, 'one')");
	ok(plh_profile_statement(0, "SELECT f(2, 'two')") == plain &&
	   plh_profile_statement(0, "SELECT f(3, 'password three')") == plain &&
	   strcmp(text_at(plain), "SELECT f(1, 'one')") == 0,
	   "a statement with other literals is the same, and has the text seen first");
	of_id = plh_profile_statement(7, "SELECT f(4, 'four')");
	ok(of_id != plain && plh_profile_statement(0, "SELECT f(5, 'five')") == plain &&
	   plh_profile_statement(7, "SELECT f(6, 'six')") == of_id,
	   "a statement with an id is another");
	secret = plh_profile_statement(0, "SELECT g(1, 'password')");
	ok(secret != plain && strstr(text_at(secret), "password") == NULL &&
	   plh_profile_statement(0, "SELECT g(2, 'two')") == secret &&
	   strstr(text_at(secret), "two") == NULL,
	   "a text that nothing may be kept of is remembered without it");
	(void) plh_profile_statement(0, "SELECT g(3)");
	ok(plh_profile_statement(0, "SELECT f(1, 'one')") == plain,
	   "a statement is found when another has come between");
	end_filling();

	begin_filling(1024 * 1024);
	(void) plh_profile_statement(0, "SELECT before");
	plain = plh_profile_statement(0, "SELECT f(1, 'one')");
	end_filling();
	begin_filling(1024 * 1024);
	(void) plh_profile_statement(8, "SELECT with_id");
	ok(strcmp(text_at(plh_profile_statement(0, "SELECT f(1, 'one')")), "SELECT f(1, 'one')") == 0,
	   "a new profile has its own statements");
	end_filling();
}

/* Statements that were chosen to have one hash do not lie in one bucket. */
static void
test_chosen_statements(void)
{
	CollidingTexts made = {0};

	begin_filling(1024 * 1024);
	for (int i = 0; i < 100; i++)
	{
		next_colliding_text(&made);
		(void) plh_profile_statement(0, made.text);
	}
	ok(longest_chain() < 20,
	   psprintf("a bucket has few records of chosen statements: %d", longest_chain()));
	end_filling();
}

/* The site of a stack that is remembered is found, whatever became of the last one. */
static void
test_known_site(void)
{
	PlhKnownStack known = {0};
	PlhSiteKey	key = {0};
	uint32		first;
	uint32		second;

	begin_filling(1024 * 1024);
	key.stack = numbered_stack(1);
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	first = plh_profile_site_of(&known, &key);
	plh_profile_counters_add(first, BYTES, 0, exact);
	ok(plh_profile_site_of(&known, &key) == first &&
	   plh_profile_site(&key) == first, "a stack has its site");
	key.statement = plh_profile_statement(0, "SELECT x1");
	second = plh_profile_site_of(&known, &key);
	ok(second != first && plh_profile_site(&key) == second,
	   "a stack with a statement has another site");

	/* that one has no samples, and goes; its statement stays for another */
	plh_profile_counters_add(filled_site(2, "SELECT x1"), BYTES, 0, exact);
	run_round();
	run_round();
	ok(site_at(second)->record.kind != PLH_RECORD_SITE, "a site without samples is given up");
	second = plh_profile_site_of(&known, &key);
	ok(second == plh_profile_site(&key) &&
	   site_at(second)->record.kind == PLH_RECORD_SITE, "a site that was given up is made anew");
	plh_profile_counters_add(second, BYTES, 0, exact);
	free_sample(second, BYTES);
	for (int i = 0; i < 2000; i++)
		(void) fill_and_free(2, numbered_text(i));
	run_round();
	key.statement = plh_profile_statement(0, "SELECT x1");
	second = plh_profile_site_of(&known, &key);
	ok(site_at(second)->key.statement == key.statement,
	   "a site that lost its statement is made anew");
	end_filling();
}

/* A leak check compares sites by their offsets. */
static void
test_suspended(void)
{
	const char *broken = NULL;
	uint32		first;
	uint32		round;

	begin_filling(1024 * 1024);
	(void) fill_and_free(1, "SELECT former");
	plh_profile_recycling_suspend();
	ok(plh_profile->round == 1, "a suspension begins with a round");
	first = fill_and_free(1, "SELECT first");
	round = plh_profile->round;
	for (int i = 0; i < 3000; i++)
	{
		(void) fill_and_free(2, numbered_text(i));
		REQUIRE(broken, strcmp(text_of_site(first), "SELECT first") == 0);
	}
	REQUIRE(broken, plh_profile->round == round);
	ok_unbroken(broken, "no site is given up during a suspension");
	plh_profile_recycling_resume();
	for (int i = 0; i < 3000; i++)
		(void) fill_and_free(2, numbered_text(3000 + i));
	ok(plh_profile->round > round, "rounds go on after a suspension");
	end_filling();
}

void
test_recycling(void)
{
	test_many_statements();
	test_totals();
	test_spans();
	test_peak();
	test_twins();
	test_pins();
	test_same_shape();
	test_chosen_statements();
	test_known_site();
	test_suspended();
}
