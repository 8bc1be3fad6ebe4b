/*
 * test_found_leaks.c
 *	  What stays behind each time that a statement runs: what counts as a leak, and in
 *	  which order leaks are told.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "reader_tests.h"
#include "check/leak_snapshot.h"

/* What each number has gained, and whether in both halves. */
static struct
{
	PlhHeld		gained;
	bool		grows;
}			figures[4];

/* No proof was made. */
static const PlhLeakHalves nothing_proven;

static bool
grows_stub(const PlhLeakHalves *halves, PlhHolder holder, int number)
{
	return figures[number].grows;
}

static PlhHeld
gain_stub(const PlhLeakHalves *halves, PlhHolder holder, int number)
{
	return figures[number].gained;
}

#define plh_leak_snapshot_grows grows_stub
#define plh_leak_snapshot_gain gain_stub
#include "check/found_leaks.c"

static PlhSiteRecord site;

static PlhLeak
leak_of(int number, int64 bytes, int64 runs)
{
	return (PlhLeak)
	{
		.site = &site,.number = number,.bytes = bytes,.count = 10,.runs = runs
	};
}

static void
test_confirmation(void)
{
	PlhLeak		leaks[] = {leak_of(0, 100, 10), leak_of(1, 100, 10), leak_of(2, 100, 10)};
	PlhLeaks	found = {.count = 3,.room = 3,.leaks = leaks};

	figures[0].gained = (PlhHeld)
	{
		0, 60, 6
	};
	figures[1].gained = (PlhHeld)
	{
		1, 200, 20
	};
	figures[2].gained = (PlhHeld)
	{
		2, 100, 10
	};
	figures[0].grows = figures[1].grows = true;
	figures[2].grows = false;
	plh_found_leaks_confirm(&found, &nothing_proven);
	ok(found.count == 2 && leaks[0].number == 0 && leaks[1].number == 1,
	   "what no longer grows in both halves is no leak");
	ok(leaks[0].bytes == 60 && leaks[0].count == 6, "of what grows less, that counts");
	ok(leaks[1].bytes == 100 && leaks[1].count == 10, "of what grows more, what it had grown before");
}

static void
test_merging(void)
{
	PlhLeaks	found = {0};
	PlhLeak		contexts = leak_of(1, 50, 5);
	PlhLeak		again = leak_of(1, 30, 3);
	PlhLeak		first = leak_of(1, 100, 10);

	contexts.site = NULL;
	again.failures = 2;
	plh_found_leaks_merge(&found, &first, CurrentMemoryContext);
	plh_found_leaks_merge(&found, &contexts, CurrentMemoryContext);
	plh_found_leaks_merge(&found, &again, CurrentMemoryContext);
	ok(found.count == 2 && found.leaks[1].bytes == 50, "a site and contexts are no leak of one place");
	ok(found.leaks[0].bytes == 130 && found.leaks[0].count == 20 && found.leaks[0].runs == 13 &&
	   found.leaks[0].failures == 2, "leaks at one place are added up");
	pfree(found.leaks);
}

static void
test_order(void)
{
	PlhLeak		leaks[] = {leak_of(1, 1000, 100), leak_of(3, 100, 1), leak_of(0, 10, 1), leak_of(2, 10, 1)};
	PlhLeaks	found = {.count = 4,.room = 4,.leaks = leaks};

	leaks[2].site = NULL;
	plh_found_leaks_sort(&found);
	ok(leaks[0].number == 3, "what leaks most each time comes first");
	ok(leaks[1].number == 1 && leaks[2].number == 2 && leaks[3].number == 0,
	   "of equal leaks, sites come before contexts, and older ones before younger ones");
}

void
test_found_leaks(void)
{
	test_confirmation();
	test_merging();
	test_order();
}
