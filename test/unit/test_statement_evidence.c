/*
 * test_statement_evidence.c
 *	  What is said of what a statement holds, and what to do about it.
 */
#include "postgres.h"

#include "suspect_facts.h"
#include "told_suspect.h"
#include "unit_tests.h"
#include "telling/share_text.h"
#include "telling/suspect_evidence.h"

static void
test_statement(void)
{
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = (PlhSuspectFacts)
	{
		.subject = PLH_SUBJECT_STATEMENT,.live_bytes = 148 * MB,.limit_bytes = 8 * MB,
			.nodes = 48,.node_bytes = 140 * MB,.is_alive = true
	};
	header.node_memory_bytes = 8 * MB;
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	ok(says("The running statement or transaction holds 148000000 B."
			" 140000000 B of it is in 48 hash tables and sorts, 2916666 B each on average. work_mem and hash_mem_multiplier allow 8000000 B for a hash table of its plan. The memory is freed when it ends."),
	   "the evidence of a statement tells its total, its limit and its nodes");
	ok(tells("read fewer partitions, or SET enable_partitionwise_join = off (the default). A lower work_mem helps only if it allows less than 2916666 B, which"),
	   "what to do about many nodes, each far below its limit");
	suspect.facts.node_bytes = 240 * MB;
	ok(tells("Lower work_mem or hash_mem_multiplier for this statement") && !tells("partitions"),
	   "what to do about many nodes near their limits");
	suspect.facts.node_bytes = 140 * MB;
	ok(tells("To free it now: SELECT pg_cancel_backend(123), or pg_terminate_backend(123) if the session is idle in transaction."),
	   "a statement that runs can be ended");
	suspect.facts.nodes = 1;
	ok(says("140000000 B of it is in one hash table or sort.") && tells("EXPLAIN the statement") &&
	   tells("SET enable_hashjoin = off"), "what to do about a node beyond its limit");
	suspect.facts.node_bytes = 0;
	ok(tells("aggregate or trigger of the statement builds large values"), "what to do about what no setting limits");
	ok(says("holds 148000000 B. The memory is freed when it ends."), "work_mem is not told of where no hash table or sort is at issue");
	suspect.facts.limit_bytes = 64 * MB;
	ok(says("holds 148000000 B. Its settings, such as maintenance_work_mem, allow 64000000 B."), "but what maintains tables has its own limit");
	suspect.facts.limit_bytes = 8 * MB;
	suspect.part = &(PlhFamilyAccount)
	{
		.family = plh_family_of("AfterTriggerEvents"),.bytes = 100 * MB
	};
	ok(says("The running statement or transaction holds 148000000 B. 100000000 B of it is for events of deferred and AFTER triggers.") &&
	   says("Nothing limits them but the number of rows") && !says("work_mem") && tells("Change fewer rows") && !tells("work_mem"),
	   "the evidence of a statement tells what much of it is for, where that is known");
	suspect.part = NULL;
	suspect.facts.is_alive = image.alive = false;
	suspect.facts.node_bytes = 140 * MB;
	ok(says("The last statement or transaction held 148000000 B. 140000000 B of it was in one hash table or sort. work_mem and hash_mem_multiplier allowed 8000000 B for a hash table of its plan.") &&
	   !says("ends") && !tells("backend("), "the evidence of a statement whose process is gone is in the past");
	image.alive = true;
}

/* Suspect a statement of 100 MB, whose sites are these. */
static void
suspect_shared_statement(PlhSiteRecord *sites)
{
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = (PlhSuspectFacts)
	{
		.subject = PLH_SUBJECT_STATEMENT,.live_bytes = 100 * MB,.limit_bytes = 8 * MB,.is_alive = true
	};
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	texts = (PlhStackTexts *) sites;
}

/* Let the sites with these stacks hold these parts of it. */
static void
share_among(PlhSiteRecord *sites, const int *stacks, const int *percents, int count)
{
	suspect.share_count = count;
	for (int i = 0; i < count; i++)
	{
		sites[i].key.stack = stacks[i];
		suspect.shares[i] = (PlhShare)
		{
			&sites[i], percents[i] * MB
		};
	}
}

/* Sites of one function are one to the reader. */
static void
test_shares(void)
{
	static const int stacks[] = {0, 1, 2, 4, 6, 7};
	static const int percents[] = {30, 25, 8, 7, 4, 4};
	PlhSiteRecord sites[lengthof(percents)] = {0};

	suspect_shared_statement(sites);
	ok(says("holds 100000000 B. The memory"), "the evidence of a statement without samples has no shares");
	share_among(sites, stacks, percents, lengthof(percents));
	ok(says(" By call site: 55% at build_array in ExecutorState (30% at build_array (arrays.c:10)), 15% at functions called by json_agg_transfn in ExecutorState, 8% at sort_rows (sorts.c:7) in ExecutorState, and 22% without a call site (free space, rounding of sizes, and what was not sampled)."),
	   "sites of one function are one share, with a line where that is the same");
	suspect.share_count = 1;
	suspect.shares[0].bytes = 4 * MB;
	ok(says("holds 100000000 B. The memory"), "a share of less than 5% is not told");
	texts = NULL;
}

/* Where the rest is, and the site that the finding is named after. */
static void
test_rest_of_shares(void)
{
	static const int stacks[] = {8, 2, 4, 0, 1, 6, 7, 3};
	static const int percents[] = {15, 8, 8, 8, 8, 8, 8, 16};
	PlhSiteRecord sites[PLH_SHARES] = {0};

	suspect_shared_statement(sites);
	share_among(sites, stacks, percents, lengthof(percents));
	ok(says(", 15% at copy_row (rows.c:1) in ExecutorState, 32% at other sites, none above 16%, and 21% without a call site (free space, rounding of sizes, and what was not sampled)."),
	   "the site that a finding is named after is told, and what is left");
	ok(plh_share_text_nameless(&suspect, &image, texts) != NULL, "names that are missing in shares are said to be");
	suspect.share_count = PLH_SHARES;
	for (int i = 0; i < PLH_SHARES; i++)
	{
		sites[i].key.stack = 8;
		sites[i].key.lifetime = PLH_LIFETIME_QUERY;
		suspect.shares[i] = (PlhShare)
		{
			&sites[i], 4 * MB
		};
	}
	ok(says("The running statement holds 100000000 B. By call site: 48% at copy_row (rows.c:1) in ExecutorState, the other 52% at many sites, none above 4%. The memory is freed when the statement ends, or its cursor is closed."),
	   "of more sites than are known, the rest is at many");
	ok(plh_share_text_nameless(&suspect, &image, texts) == NULL, "and where none is missing, nothing is said");
	for (int i = 0; i < PLH_SHARES; i++)
		sites[i].key.lifetime = PLH_LIFETIME_TRANSACTION;
	ok(says("The running transaction holds ") && says(" The memory is freed at COMMIT or ROLLBACK at the latest."),
	   "what lasts as long as the transaction is said to");
	texts = NULL;
}

/* A site that has little of it explains nothing. */
static void
test_scattered(void)
{
	static const int stacks[] = {8, 6, 0};
	static const int percents[] = {9, 8, 7};
	PlhContextRecord record = {.instances = 1};
	PlhFamilyAccount families[] = {
		{.family = plh_family_of("ExecutorState"),.largest = &record,.bytes = 71 * MB},
		{.family = plh_family_of("MessageContext"),.largest = &record,.bytes = 20 * MB}
	};
	PlhAccount	account = {.families = families,.family_count = 2,.passing_bytes = 91 * MB};
	PlhSuspectList list = {1, &suspect, &account};
	PlhSiteRecord sites[lengthof(percents)] = {0};
	const char *evidence;

	suspect_shared_statement(sites);
	share_among(sites, stacks, percents, lengthof(percents));
	suspect.site = &sites[0];
	suspect.facts.counted_bytes = 91 * MB;
	ok(!plh_share_text_names_site(&suspect, &image, texts), "no finding is named after a site that has 9% of it");
	evidence = plh_suspect_evidence(&suspect, &list, &image, texts);
	ok(strstr(evidence, " By its samples, no call site has more than 9% of it. 71000000 B of it is held for the executor. It has what a plan's nodes, expressions and functions need.") != NULL &&
	   strstr(evidence, "copy_row") == NULL, "what it is held for is told instead");
	suspect.shares[0].bytes = 15 * MB;
	ok(plh_share_text_names_site(&suspect, &image, texts), "a site that has 15% of it names it");
	for (int i = 0; i < 3; i++)
	{
		sites[i].key.stack = 8;
		suspect.shares[i].bytes = 8 * MB;
	}
	ok(plh_share_text_names_site(&suspect, &image, texts), "and so do several of one function together");
	suspect.facts.subject = PLH_SUBJECT_CONTEXTS;
	suspect.is_scattered = true;
	ok(!plh_share_text_names_site(&suspect, &image, texts), "of contexts, samples in them tell");
	texts = NULL;
}

/* How the total comes about. */
static void
test_counted(void)
{
	suspect_shared_statement(NULL);
	suspect.facts.counted_bytes = 90 * MB;
	ok(says(" holds 100000000 B. 90000000 B of that was counted, and samples show the rest, which came later. The memory is freed"),
	   "what was counted of a total is told, and what is estimated");
	suspect.facts.counted_bytes = 100 * MB;
	ok(!says("samples show"), "nothing is said of that where all was counted");
}

/* What a statement has not written to takes no memory. */
static void
test_unwritten(void)
{
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = (PlhSuspectFacts)
	{
		.subject = PLH_SUBJECT_STATEMENT,.live_bytes = 187 * MB,.limit_bytes = 8 * MB,.is_alive = true
	};
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	header.census_at = SOME_TIME;
	header.context_bytes = 188 * MB;
	header.malloc_bytes = 190 * MB;
	header.own_bytes = 103 * MB;
	ok(says("The running statement or transaction has allocated 187000000 B, part of which had not been written to at the last count."),
	   "a statement does not hold more than its process has");
	header.own_bytes = 189 * MB;
	ok(says(" holds 187000000 B."), "what was written to is held");
	suspect_site(steady_leak());
	header.context_bytes = header.malloc_bytes = 100 * MB;
	header.own_bytes = 3 * MB;
	ok(says(" At the last count most of it had not been written to, so it took less memory than that."),
	   "neither does a leak");
	header.census_at = 0;
	header.context_bytes = 0;
	header.malloc_bytes = 7 * MB;
}

/* Of a sort, the limit of hash tables is not told. */
static void
test_limits(void)
{
	PlhContextRecord record = {.instances = 1};
	PlhFamilyAccount families[] = {
		{.family = plh_family_of("Caller tuples"),.largest = &record,.bytes = 90 * MB,.contexts = 3},
		{.family = plh_family_of("HashBatchContext"),.largest = &record,.bytes = 50 * MB,.contexts = 1}
	};
	PlhAccount	account = {.families = families,.family_count = 2};
	PlhSuspectList list = {1, &suspect, &account};
	const char *evidence;

	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = (PlhSuspectFacts)
	{
		.subject = PLH_SUBJECT_STATEMENT,.live_bytes = 148 * MB,.limit_bytes = 8 * MB,
			.nodes = 2,.node_bytes = 140 * MB,.is_alive = true
	};
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, " work_mem limits each sort.") != NULL && strstr(evidence, "multiplier") == NULL,
	   "sorts that hold most are limited by work_mem alone");
	header.sort_memory_bytes = 4 * MB;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, " work_mem allows 4000000 B for each sort.") != NULL,
	   "the limit of sorts is told where it is known");
	families[0].family = plh_family_of("HashBatchContext");
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, " work_mem and hash_mem_multiplier allow 8000000 B for each hash table.") != NULL,
	   "the limit of hash tables is told where they hold most");
	families[1].family = plh_family_of("ExecutorState");
	suspect.facts.counted_bytes = account.passing_bytes = 140 * MB;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, " for each hash table. Besides, 50000000 B is held for the executor. It has what a plan's nodes, expressions and functions need.") != NULL,
	   "what the executor has beside them is told");
	families[1].bytes = 30 * MB;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, "Besides") == NULL, "unless it is little");
	families[1].bytes = 50 * MB;
	suspect.facts.counted_bytes = 0;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, "Besides") == NULL, "or of another transaction");
}

void
test_statement_evidence(void)
{
	test_statement();
	test_shares();
	test_rest_of_shares();
	test_scattered();
	test_counted();
	test_unwritten();
	test_limits();
}
