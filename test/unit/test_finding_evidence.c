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

/* What is proven of a leak of 100 MB, that many seconds before now. */
static void
prove(int64 lost_bytes, int64 resettable_bytes, int64 held_bytes, int seconds_ago)
{
	finding.sites.left_bytes = 100 * MB;
	finding.sites.proven = (PlhProven)
	{
		.at = finding.counted_at - seconds_ago * USECS_PER_SEC,.lost_bytes = lost_bytes,
			.resettable_bytes = resettable_bytes,.held_bytes = held_bytes,
			.holder_bytes = held_bytes,.holder = "the stack"
	};
}

static void
test_proofs(void)
{
	find_leak();
	prove(100 * MB, 0, 0, 0);
	ok(says("keeps growing. Nothing points to any of it: no code can use it or free it. It grew by "),
	   "what is lost as a whole is told");
	image.alive = false;
	ok(says("Nothing pointed to any of it: no code could use it or free it."),
	   "of a process that is gone, in the past");
	image.alive = true;
	prove(60 * MB, 20 * MB, 30 * MB, 3600);
	ok(says("At second 0 nothing pointed to 40000000 B of it: no code can use or free that. At second 0 nothing pointed to another 20000000 B of it, but a reset of its memory context frees that. At second 0 30000000 B of it could be reached from the stack. It grew"),
	   "each sentence on another moment begins with that");
	prove(60 * MB, 0, 29 * MB, 3600);
	ok(says("11000000 B more was allocated later, and is not proven."),
	   "what came later is not said to be proven");
	prove(60 * MB, 60 * MB, 40 * MB, 0);
	ok(says("Nothing points to 60000000 B of it, but a reset of its memory context frees that. 40000000 B of it can be reached from the stack. It grew"),
	   "what a reset frees is told");
	prove(100 * MB, 100 * MB, 0, 0);
	ok(says("Nothing points to any of it, but a reset of its memory context frees it."),
	   "the same of all");
	prove(0, 0, 100 * MB, 0);
	finding.sites.proven.path = "main -> list";
	ok(says("All of it can be reached from the stack. The way to it: main -> list."),
	   "who holds it is told, and the way");
	finding.sites.proven.holder_bytes = 70 * MB;
	ok(says("All of it can be reached from several places, 70000000 B of it from the stack."),
	   "of several holders, the one that holds most");
	finding.sites.proven.holder = NULL;
	ok(says("All of it can be reached from memory without a name. It grew"),
	   "a holder may have no name, and then no way from it is told");
	prove(500000, 0, 99500000, 0);
	ok(!says("Nothing points") && says("All of it can"), "next to nothing is not told");

	prove(40 * MB, 0, 60 * MB, 0);
	finding.kind = PLH_KIND_SITE_LOST;
	finding.sites.statements = 2;
	ok(says("100000000 B allocated here in at least 2 statements has not been freed. Nothing points to 40000000 B of it: no code can use or free that. 60000000 B of it can be reached from the stack.") &&
	   !says("keeps growing"), "nothing is said of the growth of what is lost");
	ok(tells("See which functions the statement calls"), "what to do about it is what to do about a leak");
	finding.kind = PLH_KIND_SITE_REACHED;
	finding.sites.statements = 1;
	ok(says("keeps growing. Nothing points to ") && says("the 100 before. ") &&
	   says("Below 134217728 B that may be a cache that fills, or a queue."),
	   "why growth is not called a leak is told");
	ok(tells("See what adds to the stack, and whether anything is ever removed from it. Look again later"),
	   "where to look is told");
	finding.sites.transactions = 1;
	finding.sites.is_over = true;
	ok(says("1 finished transaction left 100000000 B "), "of few transactions, that they left it");
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
	test_proofs();
	test_course_of_cache();
	test_parts();
	test_names();
	test_empty_memory();
}
