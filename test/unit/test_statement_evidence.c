/*
 * test_statement_evidence.c
 *	  What is said of what a statement holds, and what to do about it.
 */
#include "postgres.h"

#include "suspect_facts.h"
#include "told_finding.h"
#include "unit_tests.h"
#include "telling/function_shares.h"

/* Let it be a statement, whose settings allow 8 MB to a node. */
static void
find_statement(int64 bytes, int64 nodes, int64 node_bytes)
{
	find(PLH_KIND_STATEMENT, bytes);
	finding.statement.limit = PLH_LIMIT_NODE;
	finding.statement.limit_bytes = 8 * MB;
	finding.statement.nodes = nodes;
	finding.statement.node_bytes = node_bytes;
}

static void
test_statement(void)
{
	find_statement(148 * MB, 48, 140 * MB);
	header.node_memory_bytes = 8 * MB;
	ok(says("The running statement or transaction holds 148000000 B."
			" 140000000 B of it is in 48 hash tables and sorts, 2916666 B each on average. The memory is freed when it ends."),
	   "the evidence of a statement tells its total, its limit and its nodes");
	ok(tells("read fewer partitions, or SET enable_partitionwise_join = off (the default). A lower work_mem helps only if it allows less than 2916666 B, which"),
	   "what to do about many nodes, each far below its limit");
	finding.statement.node_bytes = 240 * MB;
	ok(tells("Lower work_mem or hash_mem_multiplier for this statement") && !tells("partitions"),
	   "what to do about many nodes near their limits");
	finding.statement.node_bytes = 140 * MB;
	ok(tells("To free it now: SELECT pg_cancel_backend(123), or pg_terminate_backend(123) if the session is idle in transaction."),
	   "a statement that runs can be ended");
	finding.statement.nodes = 1;
	ok(says("140000000 B of it is in one hash table or sort.") && tells("EXPLAIN the statement") &&
	   tells("SET enable_hashjoin = off"), "what to do about a node beyond its limit");
	finding.statement.node_bytes = 0;
	ok(tells("aggregate or trigger of the statement builds large values"), "what to do about what no setting limits");
	ok(says("holds 148000000 B. The memory is freed when it ends."), "work_mem is not told of where no hash table or sort is at issue");
	header.maintenance_bytes = 64 * MB;
	finding.statement.limit = PLH_LIMIT_MAINTENANCE;
	ok(says("holds 148000000 B. maintenance_work_mem allows 64000000 B."), "but what maintains tables has its own limit");
	header.decoding_bytes = 32 * MB;
	finding.statement.limit = PLH_LIMIT_DECODING;
	ok(says(" logical_decoding_work_mem allows 32000000 B for the changes of transactions."), "and what decodes the log");
	finding.statement.limit = PLH_LIMIT_NODE;
	finding.statement.part = &(PlhFamilyAccount)
	{
		.family = plh_family_of("AfterTriggerEvents"),.bytes = 100 * MB
	};
	ok(says("The running statement or transaction holds 148000000 B. 100000000 B of it is for events of deferred and AFTER triggers.") &&
	   says("Nothing limits them but the number of rows") && !says("work_mem") && tells("Change fewer rows") && !tells("work_mem"),
	   "the evidence of a statement tells what much of it is for, where that is known");
	finding.statement.part = NULL;
	image.alive = false;
	finding.statement.node_bytes = 140 * MB;
	ok(says("The last statement or transaction held 148000000 B. 140000000 B of it was in one hash table or sort.") &&
	   !says("ends") && !tells("backend("), "the evidence of a statement whose process is gone is in the past");
	image.alive = true;
}

/* Let it be a statement of 100 MB, whose sites are these. */
static void
find_shared_statement(PlhSiteRecord *sites)
{
	find_statement(100 * MB, 0, 0);
	texts = (PlhStackTexts *) sites;
}

/* Let the sites with these stacks hold these parts of it. */
static void
share_among(PlhSiteRecord *sites, const int *stacks, const int *percents, int count)
{
	finding.statement.share_count = count;
	for (int i = 0; i < count; i++)
	{
		sites[i].key.stack = stacks[i];
		finding.statement.shares[i] = (PlhShare)
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

	find_shared_statement(sites);
	ok(says("holds 100000000 B. The memory"), "the evidence of a statement without samples has no shares");
	share_among(sites, stacks, percents, lengthof(percents));
	ok(says(" By call site: 55% at build_array in ExecutorState (30% at build_array (arrays.c:10)), 15% at functions called by json_agg_transfn in ExecutorState, 8% at sort_rows (sorts.c:7) in ExecutorState. No call site is known for the other 22%: free space, rounding, and what was not sampled."),
	   "sites of one function are one share, with a line where that is the same");
	finding.statement.share_count = 1;
	finding.statement.shares[0].bytes = 4 * MB;
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

	find_shared_statement(sites);
	share_among(sites, stacks, percents, lengthof(percents));
	ok(says(", 15% at copy_row (rows.c:1) in ExecutorState. 32% is at other call sites, none above 16%. No call site is known for the other 21%: free space, rounding, and what was not sampled."),
	   "the site that a finding is named after is told, and what is left");
	ok(plh_function_shares_nameless(&finding, &image, texts) != NULL, "names that are missing in shares are said to be");
	finding.statement.share_count = PLH_SHARES;
	for (int i = 0; i < PLH_SHARES; i++)
	{
		sites[i].key.stack = 8;
		sites[i].key.lifetime = PLH_LIFETIME_QUERY;
		finding.statement.shares[i] = (PlhShare)
		{
			&sites[i], 4 * MB
		};
	}
	ok(says("The running statement holds 100000000 B. By call site: 48% at copy_row (rows.c:1) in ExecutorState. The other 52% is at many call sites, none above 4%. The memory is freed when the statement ends, or its cursor is closed."),
	   "of more sites than are known, the rest is at many");
	ok(plh_function_shares_nameless(&finding, &image, texts) == NULL, "and where none is missing, nothing is said");
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
	PlhSiteRecord sites[lengthof(percents)] = {0};

	find_shared_statement(sites);
	share_among(sites, stacks, percents, lengthof(percents));
	account = (PlhAccount)
	{
		.families = families,.family_count = 2,.passing_bytes = 91 * MB
	};
	finding.site = &sites[0];
	finding.statement.counted_bytes = 91 * MB;
	ok(!plh_function_shares_name_site(&finding, &image, texts), "no finding is named after a site that has 9% of it");
	ok(says(" By its samples, no call site has more than 9% of it. 71000000 B of it is held for the executor. It has what a plan's nodes, expressions and functions need.") &&
	   !says("copy_row"), "what it is held for is told instead");
	finding.statement.shares[0].bytes = 15 * MB;
	ok(plh_function_shares_name_site(&finding, &image, texts), "a site that has 15% of it names it");
	for (int i = 0; i < 3; i++)
	{
		sites[i].key.stack = 8;
		finding.statement.shares[i].bytes = 8 * MB;
	}
	ok(plh_function_shares_name_site(&finding, &image, texts), "and so do several of one function together");
	find(PLH_KIND_CONTEXTS_GROW, 100 * MB);
	finding.site = &sites[0];
	finding.contexts.is_scattered = true;
	ok(!plh_function_shares_name_site(&finding, &image, texts), "of contexts, samples in them tell");
	texts = NULL;
}

/* How the total comes about. */
static void
test_counted(void)
{
	find_shared_statement(NULL);
	finding.statement.counted_bytes = 90 * MB;
	ok(says(" holds 100000000 B. 90000000 B of that was counted, and samples show the rest, which came later and may not be written to yet. The memory is freed"),
	   "what was counted of a total is told, and what is estimated");
	finding.statement.counted_bytes = 100 * MB;
	ok(!says("samples show"), "nothing is said of that where all was counted");
}

/* What a statement has not written to takes no memory. */
static void
test_unwritten(void)
{
	find_statement(187 * MB, 0, 0);
	header.census_at = SOME_TIME;
	header.context_bytes = 188 * MB;
	header.malloc_bytes = 190 * MB;
	header.own_bytes = 103 * MB;
	ok(says("The running statement or transaction has allocated 187000000 B, part of which had not been written to at the last count."),
	   "a statement does not hold more than its process has");
	header.own_bytes = 189 * MB;
	ok(says(" holds 187000000 B."), "what was written to is held");
	find_leak();
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

	find_statement(148 * MB, 2, 140 * MB);
	account.families = families;
	account.family_count = lengthof(families);
	header.sort_memory_bytes = 4 * MB;
	ok(says(" work_mem allows 4000000 B for each sort.") && !says("multiplier"),
	   "sorts that hold most are limited by work_mem alone");
	image.alive = false;
	ok(says(" work_mem allowed 4000000 B for each sort."),
	   "the limit of sorts of a process that is gone is in the past");
	image.alive = true;
	families[0].family = plh_family_of("HashBatchContext");
	ok(says(" work_mem and hash_mem_multiplier allow 8000000 B for each hash table."),
	   "the limit of hash tables is told where they hold most");
	families[1].family = plh_family_of("ExecutorState");
	finding.statement.counted_bytes = account.passing_bytes = 140 * MB;
	ok(says(" for each hash table. Besides, 50000000 B is held for the executor. It has what a plan's nodes, expressions and functions need."),
	   "what the executor has beside them is told");
	families[1].bytes = 30 * MB;
	ok(!says("Besides"), "unless it is little");
	families[1].bytes = 50 * MB;
	finding.statement.counted_bytes = 0;
	ok(!says("Besides"), "or of another transaction");
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
