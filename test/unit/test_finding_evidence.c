/*
 * test_finding_evidence.c
 *	  What is said of a finding.
 */
#include "postgres.h"

#include "report/blamed_code.h"
#include "suspect_facts.h"
#include "told_finding.h"
#include "unit_tests.h"

static void
test_sites(void)
{
	find_leak();
	ok(says("100000000 B (+/- 20000000 B) of the 100000000 B allocated here has not been freed, and it keeps growing. It grew by 500000 B per transaction over the last 100 transactions, and by 500000 B over the 100 before. All transactions count, even those that never called this function."),
	   "the evidence of a leak tells bytes, error and growth per transaction");
	finding.sites.transactions = 3;
	ok(says(" over the 100 before. Of a long transaction, each second counts as one."),
	   "the evidence of a leak in long transactions counts their seconds");
	finding.sites.last_at = SOME_TIME + 1800 * USECS_PER_SEC;
	ok(says("and it kept growing until second 1800."),
	   "the evidence of a leak that has stopped tells when");
	image.alive = false;
	finding.sites.last_at = finding.counted_at;
	ok(says("had not been freed, and it kept growing. "), "the evidence of a leak of a process that is gone is in the past");
	finding.sites.age_epochs = finding.sites.epochs;
	ok(!says("All transactions count"), "nothing is said of transactions that did not allocate where all did");
	finding.sites.total_bytes = 9717 * MB;
	ok(says("was still held; the rest of the 9717000000 B allocated here over time had been freed. What was held kept growing. "),
	   "what is enlarged again and again is not said to have leaked of it all");
	image.alive = true;
	ok(tells("See which functions the statement calls") && tells("a newer minor release may fix it") &&
	   tells("Until this is fixed, limit how long such connections live (a pool's max lifetime), or end them from time to time: SELECT pg_terminate_backend(123)."),
	   "what to do about a leak that no library has");
	image.alive = false;
	ok(tells("or end them from time to time.") && !tells("backend("), "a process that is gone cannot be ended by its id");
	image.alive = true;

	find_held();
	ok(!says("3 finished transactions left "), "what a running transaction leaves is not said to be over");
	finding.sites.is_over = true;
	ok(says("3 finished transactions left ") && says("It stays until the session ends"),
	   "the evidence of what is held tells who left it");
	finding.sites.transactions = 1;
	finding.error_bytes = 0;
	ok(says("1 finished transaction left 100000000 B of the 100000000 B"),
	   "what was counted has no error");
	finding.kind = PLH_KIND_SITE_GROWS;
	ok(says("It holds 100000000 B, 100000000 B more than at the baseline. Too little has happened"),
	   "the evidence of growth tells bytes and why it is no leak");
	finding.sites.sites = finding.sites.statements = 400;
	ok(says("Each of 400 statements has too little of it"),
	   "the evidence of growth in many statements tells how many");
}

/* When caches grew. */
static void
test_course_of_cache(void)
{
	PlhFamilyAccount family = {
		.family = plh_family_of("CacheMemoryContext"),.lasting = true,.bytes = 39 * MB,.late_bytes = 39 * MB,
		.early_at = SOME_TIME + 25 * USECS_PER_SEC,.late_at = SOME_TIME + 30 * USECS_PER_SEC
	};

	find(PLH_KIND_CACHE_GROWS, 39 * MB);
	finding.contexts.family = &family;
	finding.late_bytes = 36 * MB;
	ok(says(" held 39000000 B, of which 36000000 B was added after second 25. This is no leak."),
	   "when caches grew is told, and that this is no leak");
	family.late_bytes = 30 * MB;
	ok(says(" was added after second 25. This is no leak."), "caches that grow have not stopped");
	finding.kind = PLH_KIND_CONTEXTS_GROW;
	finding.contexts.late_contexts = 40;
	ok(says(" Of these, 40 contexts and 36000000 B were added after second 25."), "when contexts became more is told");
}

/* The parts of what a process keeps that has grown as a whole. */
static void
test_parts(void)
{
	PlhContextRecord record = {0};
	PlhFamilyAccount families[] = {
		{.family = plh_family_of("CacheMemoryContext"),.largest = &record,.lasting = true,.bytes = 30 * MB},
		{.family = plh_family_of("CachedPlan"),.largest = &record,.lasting = true,.bytes = 4 * MB},
	};

	find(PLH_KIND_PROCESS_GROWS, 90 * MB);
	account = (PlhAccount)
	{
		.lasting_bytes = 90 * MB,.families = families,.family_count = 2
	};
	ok(says(" Its largest parts: 30000000 B ") && !says("4000000"),
	   "the largest parts are told of a process that grows as a whole");
	families[0].bytes = 4 * MB;
	ok(!says("parts") && !says(": ."), "no part is told where none has much");
}

/* A site without a name is named by its caller. */
static void
test_names(void)
{
	PlhFrameText frames[] = {
		frame_in("palloc", "/pg/bin/postgres"),
		frame_in(NULL, "/pg/bin/postgres"),
		frame_in(NULL, "/pg/bin/postgres"),
		frame_in("lappend", "/pg/bin/postgres"),
		frame_in("exec_stmt_execsql", "/pg/lib/plpgsql.so")
	};
	PlhStackText stack = {.frames = frames,.frame_count = 5,.site_frame = 1,.site = frames[1].text};

	ok(strcmp(plh_blamed_code_site(&stack), "postgres+0x660d32, called by exec_stmt_execsql") == 0,
	   "a site without a name is named by its caller");
	ok(strcmp(plh_blamed_code_nameless(&stack), "/pg/bin/postgres") == 0,
	   "the binary is known whose names are missing");
	frames[1].text = "postgres+0x660d32 [file replaced]";
	ok(plh_blamed_code_nameless(&stack) == NULL, "symbols are not missing where the file was replaced");
	frames[1].text = stack.site;
	stack.frame_count = 2;
	ok(strcmp(plh_blamed_code_site(&stack), "postgres+0x660d32") == 0, "no caller has a name");
	stack.site_frame = 0;
	stack.site = "palloc";
	ok(strcmp(plh_blamed_code_site(&stack), "palloc") == 0 &&
	   plh_blamed_code_nameless(&stack) == NULL, "a site with a name has no caller named");
	frames[0] = (PlhFrameText)
	{
		.text = "[no stack]"
	};
	ok(plh_blamed_code_nameless(&stack) == NULL && !plh_blamed_code_lacks_name(&stack),
	   "a stack that was not taken lacks no name");
}

/* Of what was never written to, and of contexts that are nearly empty. */
static void
test_empty_memory(void)
{
	PlhContextRecord nameless = {.context_name = 0};

	find_held();
	header.census_at = SOME_TIME;
	header.context_bytes = header.malloc_bytes = finding.bytes + MB;
	header.own_bytes = header.malloc_bytes;
	ok(!says("written to"), "nothing is said of memory that was written to");
	header.own_bytes = 3 * MB;
	ok(says(" At the last count most of it had not been written to, so it took less memory than that.") &&
	   tells("There is no need to act") && !tells("backend("),
	   "memory that was never written to is said to be so");
	finding.sites.is_over = true;
	ok(says(" At the last count most of it had not been written to"), "and so it is when its transaction is over");
	finding.kind = PLH_KIND_SITE_LEAKS;
	ok(tells("There is no hurry") && !tells("backend("), "a leak of such memory is not urgent");

	find(PLH_KIND_CONTEXTS_GROW, 100 * MB);
	finding.contexts.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CurTransactionContext"),.bytes = 100 * MB
	};
	header.context_free_bytes = 80 * MB;
	ok(says("Most of that is free space inside them"), "contexts that are nearly empty are said to be so");
	header.context_free_bytes = 20 * MB;
	ok(!says("free space"), "and others are not");
	ok(tells("RELEASE savepoints that are no longer needed") && tells("To free it now: SELECT pg_cancel_backend(123). If its client has set savepoints, this frees nothing before ROLLBACK or COMMIT; then end the session: SELECT pg_terminate_backend(123)."),
	   "contexts of a transaction are freed with it");
	finding.contexts.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CachedPlan"),.lasting = true
	};
	ok(tells("DEALLOCATE") && tells("To free it now, end the session: SELECT pg_terminate_backend(123)."),
	   "those of a session are freed with that");
	finding.contexts.family = &(PlhFamilyAccount)
	{
		.lasting = true,.largest = &nameless
	};
	ok(tells("Search the sources of the extensions that this session uses for \"" PLH_NO_CONTEXT_NAME "\""),
	   "contexts that nobody knows are looked for by their name");
	header.census_at = 0;
	header.context_bytes = 0;
	header.context_free_bytes = 0;
	header.malloc_bytes = 7 * MB;
}

void
test_finding_evidence(void)
{
	test_sites();
	test_course_of_cache();
	test_parts();
	test_names();
	test_empty_memory();
}
