/*
 * test_suspect_evidence.c
 *	  What is said of a suspect, and what to do about it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/settings.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/words.h"
#include "reader/database_text.h"
#include "server.h"
#include "suspect_facts.h"
#include "unit_tests.h"
#include "verdict/share_text.h"
#include "verdict/suspect_advice.h"
#include "verdict/suspect_evidence.h"

/* The server's own words for sizes and times need the server. */
char *
plh_words_size(int64 bytes)
{
	return psprintf(INT64_FORMAT " B", bytes);
}

char *
plh_words_estimate(int64 bytes, int64 error_bytes)
{
	return error_bytes <= 0 ? plh_words_size(bytes) :
		psprintf(INT64_FORMAT " B (+/- " INT64_FORMAT " B)", bytes, error_bytes);
}

char *
plh_words_time(TimestampTz time)
{
	return psprintf("second " INT64_FORMAT, (time - SOME_TIME) / USECS_PER_SEC);
}

/* So do names; nobody asks for them here. */
char *
plh_database_text_fit_foreign(const char *text, Size bytes, int encoding)
{
	return pnstrdup(text, bytes);
}

void
plh_listed_site_start(PlhListedSite *listed, const PlhProfileImage *image,
					  const PlhSiteFacts *facts)
{
	memset(listed, 0, sizeof(*listed));
	listed->facts = *facts;
	listed->context_name = "ExecutorState";
}

/* Of each stack there are two frames: the first of them is two lines of one function. */
void
plh_listed_site_describe_stack(PlhListedSite *listed, PlhStackTexts *texts)
{
	static PlhFrameText frames[] = {
		{.text = "build_array (arrays.c:10)",.function = "build_array"},
		{.text = "build_array (arrays.c:20)",.function = "build_array"},
		{.text = "postgres+0x10",.module = "/pg/bin/postgres"},
		{.text = "json_agg_transfn (json.c:7)",.function = "json_agg_transfn"},
		{.text = "postgres+0x20",.module = "/pg/bin/postgres"},
		{.text = "json_agg_transfn (json.c:8)",.function = "json_agg_transfn"},
		{.text = "sort_rows (sorts.c:7)",.function = "sort_rows"},
		{.text = "sort_rows (sorts.c:7)",.function = "sort_rows"},
		{.text = "copy_row (rows.c:1)",.function = "copy_row"}
	};

	/* a stack of a profile is the last */
	listed->stack.frames = &frames[Min(listed->facts.site->key.stack, lengthof(frames) - 1)];
	listed->stack.frame_count = 2;
	listed->stack.site = listed->stack.frames[0].text;
}

const char *
plh_stack_text_base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* What is said of sites needs them described. */
static PlhStackTexts *texts;

static PlhProfileHeader header = {.pid = 123,.backend_type = B_BACKEND,.malloc_bytes = 7 * MB};
static PlhProfileImage image = {.header = &header,.alive = true};
static PlhSuspect suspect;

/* Does the evidence have that text? */
static bool
says(const char *text)
{
	PlhSuspectList list = {1, &suspect};
	const char *evidence = plh_suspect_evidence(&suspect, &list, &image, texts);

	if (strstr(evidence, text) != NULL)
		return true;
	printf("# %s\n", evidence);
	return false;
}

/* The site of whose stack the advice is; NULL: of none. */
static PlhListedSite *listed;

/* Is there that to do? */
static bool
tells(const char *text)
{
	const char *next = plh_suspect_advice(&suspect, &image, listed);

	if (strstr(next, text) != NULL)
		return true;
	printf("# %s\n", next);
	return false;
}

static void
suspect_site(PlhSuspectFacts facts)
{
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = facts;
	suspect.judgement = plh_suspect_judge(&facts);
}

static void
test_sites(void)
{
	suspect_site(steady_leak());
	ok(says(psprintf("100000000 B (+/- " INT64_FORMAT " B) of the 100000000 B allocated here has not been freed, and it keeps growing. On average it grew by 500000 B in each of the last 100 transactions, and by 500000 B in each of the 100 before. Transactions that allocated nothing here are among them.",
					 suspect.judgement.error_bytes)),
	   "the evidence of a leak tells bytes, error and growth per transaction");
	suspect.facts.transactions = 3;
	ok(says("On average it grew by 500000 B in each of the last 100 transactions (or seconds of a long one), and by 500000 B in each of the 100 before."),
	   "the evidence of a leak in long transactions counts their seconds");
	suspect.facts.last_at = SOME_TIME + 1800 * USECS_PER_SEC;
	ok(says("and it kept growing until second 1800."),
	   "the evidence of a leak that has stopped tells when");
	suspect.facts.is_alive = false;
	suspect.facts.last_at = suspect.facts.counted_to;
	ok(says("had not been freed, and it kept growing. "), "the evidence of a leak of a process that is gone is in the past");
	suspect.facts.age_epochs = suspect.facts.epochs;
	ok(!says("allocated nothing here"), "nothing is said of transactions that did not allocate where all did");
	suspect.facts.total_bytes = 9717 * MB;
	ok(says("was still held; the rest of the 9717000000 B allocated here over time had been freed. What is held kept growing. "),
	   "what is enlarged again and again is not said to have leaked of it all");
	ok(tells("See which functions the statement calls") && tells("a newer minor release may fix it") &&
	   tells("Until this is fixed, limit how long such connections live (a pool's max lifetime), or end them from time to time: SELECT pg_terminate_backend(123)."),
	   "what to do about a leak that no library has");
	image.alive = false;
	ok(tells("or end them from time to time.") && !tells("backend("), "a process that is gone cannot be ended by its id");
	image.alive = true;

	suspect_site(fresh_growth());
	ok(says("3 finished transactions left ") == suspect.facts.is_over, "what a running transaction leaves is not said to be over");
	suspect.facts.is_over = true;
	ok(says("3 finished transactions left ") && says("It stays until the session ends"),
	   "the evidence of what is held tells who left it");
	suspect.facts.transactions = 1;
	suspect.judgement.error_bytes = 0;
	ok(says("1 finished transaction left 100000000 B of the 100000000 B"),
	   "what was counted has no error");
	suspect.judgement.verdict = PLH_VERDICT_GROWING;
	ok(says("It holds 100000000 B, 100000000 B more than at the baseline. Too little has happened"),
	   "the evidence of growth tells bytes and why it is no leak");
	suspect.facts.sites = suspect.facts.statements = 400;
	ok(says("Each of 400 statements has too little of it"),
	   "the evidence of growth in many statements tells how many");
}

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
	static const int stacks[] = {8, 2, 4, 0, 1, 6, 7};
	static const int percents[] = {12, 8, 8, 7, 7, 7, 7};
	PlhSiteRecord sites[PLH_SHARES] = {0};

	suspect_shared_statement(sites);
	share_among(sites, stacks, percents, lengthof(percents));
	ok(says(", 12% at copy_row (rows.c:1) in ExecutorState, 14% at other sites, none above 14%, and 44% without a call site (free space, rounding of sizes, and what was not sampled)."),
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
}

/* When caches grew, and that they do no more. */
static void
test_course_of_cache(void)
{
	PlhFamilyAccount family = {
		.family = plh_family_of("CacheMemoryContext"),.lasting = true,.bytes = 39 * MB,.late_bytes = 39 * MB,
		.early_at = SOME_TIME + 25 * USECS_PER_SEC,.late_at = SOME_TIME + 30 * USECS_PER_SEC
	};

	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = (PlhSuspectFacts)
	{
		.subject = PLH_SUBJECT_CONTEXTS,.live_bytes = 39 * MB,.contexts = 33,.is_alive = true
	};
	suspect.family = &family;
	suspect.judgement.verdict = PLH_VERDICT_GROWING;
	suspect.judgement.late_bytes = 36 * MB;
	ok(says(" held 39000000 B, of which 36000000 B was added after second 25. They had hardly grown since second 30. This is no leak."),
	   "when caches grew is told, and that they have stopped");
	family.late_bytes = 30 * MB;
	ok(says(" was added after second 25. This is no leak."), "caches that grow have not stopped");
	suspect.judgement.verdict = PLH_VERDICT_CONTEXTS;
	suspect.judgement.late_contexts = 40;
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
	PlhAccount	account = {.lasting_bytes = 90 * MB,.families = families,.family_count = 2};
	PlhSuspectList list = {1, &suspect, &account};
	const char *evidence;

	memset(&suspect, 0, sizeof(suspect));
	suspect.facts.subject = PLH_SUBJECT_PROCESS;
	suspect.judgement.verdict = PLH_VERDICT_GROWING;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, " Its largest parts: 30000000 B ") != NULL && strstr(evidence, "4000000") == NULL,
	   "the largest parts are told of a process that grows as a whole");
	families[0].bytes = 4 * MB;
	evidence = plh_suspect_evidence(&suspect, &list, &image, NULL);
	ok(strstr(evidence, "parts") == NULL && strstr(evidence, ": .") == NULL,
	   "no part is told where none has much");
}

/* A frame of a function, or without a name, in a binary. */
static PlhFrameText
frame_in(const char *function, const char *module)
{
	return (PlhFrameText)
	{
		.text = function == NULL ? "postgres+0x660d32" : function,.function = function,.module = module
	};
}

/* What to do about code of an extension, and of the languages. */
static void
test_libraries(void)
{
	PlhFrameText frames[] = {
		frame_in("palloc", "/pg/bin/postgres"),
		frame_in("stack_audit_event", "/pg/lib/pgaudit.so"),
		frame_in("standard_ExecutorRun", "/pg/bin/postgres")
	};
	PlhListedSite site = {.stack = {.frames = frames,.frame_count = 3,.site_frame = 1,.site = "some_function"}};

	listed = &site;
	suspect_site(steady_leak());
	ok(tells("Report this to the authors of pgaudit.so, with what pg_leakhunt_suspects shows as \"stack\"."),
	   "a leak of a library is for its authors");
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts.subject = PLH_SUBJECT_STATEMENT;
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	suspect.facts.live_bytes = MB;
	ok(tells("by functions of pgaudit.so, or by functions that these called.") && !tells("EXPLAIN the statement"),
	   "a hook that allocates under a statement is named instead of EXPLAIN");
	frames[1].module = "/pg/lib/plpgsql.so";
	ok(tells("Look in the PL/pgSQL code that the statement runs for variables") && !tells("plpgsql.so"),
	   "PL/pgSQL is a language");
	suspect_site(steady_leak());
	ok(tells("A PL/pgSQL function was running") && !tells("authors"),
	   "a leak under PL/pgSQL is not for the authors of plpgsql.so");
	frames[1] = frame_in("ExecProcNode", "/pg/bin/postgres");
	frames[1].function = "standard_ExecutorRun";
	frames[2] = frame_in("pgss_ExecutorRun", "/pg/lib/pg_stat_statements.so");
	ok(!tells("pg_stat_statements") && tells("See which functions the statement calls"),
	   "a hook that only calls the executor is not to blame");
	listed = NULL;
}

/* What is known of functions of the server. */
static void
test_known_sites(void)
{
	PlhFrameText frames[] = {
		frame_in(NULL, "/pg/bin/postgres"),
		frame_in("Async_Notify", "/pg/bin/postgres"),
		frame_in("ExecInterpExpr", "/pg/bin/postgres")
	};
	PlhListedSite site = {.stack = {.frames = frames,.frame_count = 3,.site = "Async_Notify"}};

	listed = &site;
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts.subject = PLH_SUBJECT_STATEMENT;
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	suspect.facts.live_bytes = MB;
	ok(tells("Send fewer notifications per transaction") && !tells("aggregate"),
	   "notifications are known by their function");
	frames[0].module = "/pg/lib/queue.so";
	ok(!tells("notifications"), "but not where a library allocates");
	frames[0].module = "/pg/bin/postgres";
	frames[1].function = "assign_record_type_typmod";
	suspect_site(steady_leak());
	ok(tells("Use the same column names") && tells("Until this is fixed, limit how long") && !tells("newer minor"),
	   "record types are known by their function");
	suspect.judgement.verdict = PLH_VERDICT_HELD;
	ok(tells("Use the same column names") && tells("End the session"), "and so they are where a few transactions left them");
	suspect.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CacheMemoryContext"),.lasting = true
	};
	suspect.judgement.verdict = PLH_VERDICT_GROWING;
	ok(tells("Use the same column names") && !tells("backend("), "and where they make a cache grow");
	listed = NULL;
	ok(tells("fewer tables and partitions"), "other caches hold tables");
}

/* Advice for processes without clients. */
static void
test_processes(void)
{
	suspect_site(steady_leak());
	header.backend_type = B_BG_WORKER;
	ok(tells("See which extension started this background worker") &&
	   tells("restart such background workers from time to time: SELECT pg_terminate_backend(123)."), "what to do about a background worker that leaks");
	strlcpy(header.label, "parallel worker", sizeof(header.label));
	ok(tells("Each parallel worker frees it when it ends."), "a parallel worker ends by itself");
	suspect.judgement.verdict = PLH_VERDICT_QUERY;
	suspect.facts.subject = PLH_SUBJECT_STATEMENT;
	ok(tells("aggregate of the leader's statement") && !tells("backend("), "a parallel worker has its leader's statement");
	header.label[0] = '\0';
	header.backend_type = B_AUTOVAC_WORKER;
	ok(tells("pg_stat_progress_vacuum") && !tells("EXPLAIN"), "an autovacuum worker has no statement to explain");
	header.backend_type = B_WAL_SENDER;
	suspect.judgement.verdict = PLH_VERDICT_HELD;
	ok(tells("Restart the walsender") && tells("pg_terminate_backend"), "a walsender can be restarted");
	image.alive = false;
	ok(tells("the memory was freed when the walsender ended"), "a process that is gone cannot be ended");
	image.alive = true;
	header.backend_type = B_BACKEND;
	ok(tells("End the session, unless it will need this memory again: SELECT pg_terminate_backend(123)."),
	   "a session can be ended");
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

static void
test_all_verdicts(void)
{
	int			wrong = 0;

	memset(&suspect, 0, sizeof(suspect));
	suspect.facts.subject = PLH_SUBJECT_SITE;
	for (int verdict = PLH_VERDICT_NONE + 1; verdict < PLH_VERDICTS; verdict++)
	{
		suspect.judgement.verdict = verdict;
		wrong += strlen(plh_suspect_advice(&suspect, &image, NULL)) == 0;
	}
	ok(wrong == 0, "each verdict has something to do");
}

/* Of what was never written to, and of contexts that are nearly empty. */
static void
test_empty_memory(void)
{
	PlhContextRecord nameless = {.context_name = 0};

	suspect_site(fresh_growth());
	header.census_at = SOME_TIME;
	header.context_bytes = header.malloc_bytes = suspect.facts.live_bytes + MB;
	header.own_bytes = header.malloc_bytes;
	ok(!says("written to"), "nothing is said of memory that was written to");
	header.own_bytes = 3 * MB;
	ok(says(" At the last count most of it had not been written to, so it took less memory than that.") &&
	   tells("There is no need to act") && !tells("backend("),
	   "memory that was never written to is said to be so");
	suspect.facts.is_over = true;
	ok(says(" At the last count most of it had not been written to"), "and so it is when its transaction is over");
	suspect.judgement.verdict = PLH_VERDICT_LEAK;
	ok(tells("There is no hurry") && !tells("backend("), "a leak of such memory is not urgent");

	suspect.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CurTransactionContext"),.bytes = 100 * MB
	};
	suspect.judgement.verdict = PLH_VERDICT_CONTEXTS;
	header.context_free_bytes = 80 * MB;
	ok(says("Most of that is free space inside them"), "contexts that are nearly empty are said to be so");
	header.context_free_bytes = 20 * MB;
	ok(!says("free space"), "and others are not");
	ok(tells("RELEASE savepoints that are no longer needed") && tells("To free it now: SELECT pg_cancel_backend(123). If its client has set savepoints, this frees nothing before ROLLBACK or COMMIT; then end the session: SELECT pg_terminate_backend(123)."),
	   "contexts of a transaction are freed with it");
	suspect.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CachedPlan"),.lasting = true
	};
	ok(tells("DEALLOCATE") && tells("To free it now, end the session: SELECT pg_terminate_backend(123)."),
	   "those of a session are freed with that");
	suspect.family = &(PlhFamilyAccount)
	{
		.lasting = true,.largest = &nameless
	};
	ok(tells("Search the sources of the extensions that this session uses for \"" PLH_NO_CONTEXT_NAME "\""),
	   "contexts that nobody knows are looked for by their name");
	suspect.family = NULL;
	header.census_at = 0;
	header.context_bytes = 0;
	header.context_free_bytes = 0;
	header.malloc_bytes = 7 * MB;
}

static void
test_malloc(void)
{
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = (PlhSuspectFacts)
	{
		.subject = PLH_SUBJECT_PROCESS,.live_bytes = 90 * MB,.growth_bytes = 80 * MB,
			.baseline_at = SOME_TIME,.counted_to = SOME_TIME + 5700000,.is_alive = true
	};
	suspect.judgement.verdict = PLH_VERDICT_MALLOC;
	suspect.judgement.late_bytes = 30 * MB;
	header.malloc_sampled_bytes = 5 * MB;
	header.malloc_sampled_error = MB;
	header.malloc_other_bytes = 99 * MB;
	ok(says("malloc had given out 90000000 B outside of memory contexts at the last count, 80000000 B more than 5.7 s earlier. 30000000 B of that came in the second half of this time.") &&
	   !says("call site"), "the evidence of malloc as a whole tells its growth, and no call site");
	ok(tells(" To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD."),
	   "the evidence of malloc as a whole tells to preload the library");
	ok(tells("ee which of these libraries "), "what to do where the process has loaded nothing by itself");
	loaded_code.has_others = true;
	ok(tells("See what the session does with the libraries that it has loaded by itself."), "what it has loaded is asked for first");
	loaded_code.language = "PL/Perl";
	ok(tells("This session has loaded PL/Perl: see what its functions keep in %_SHARED and global variables."),
	   "a language that it has loaded is named");
	suspect.judgement.verdict = PLH_VERDICT_MAPPED;
	loaded_code.language = "PL/Python";
	ok(tells("see what its functions keep in GD, SD and global variables."), "and so it is where memory was mapped");
	loaded_code = (PlhLoadedCode)
	{
		.has_jit = true
	};
	ok(tells("SET jit = off"), "the compiler of queries is named, too");
	suspect.judgement.verdict = PLH_VERDICT_MALLOC;
	ok(tells("SET jit = off"), "and so it is where malloc has given out much");
	loaded_code.has_jit = false;
	suspect.judgement.verdict = PLH_VERDICT_MAPPED;
	ok(tells("Look for code that maps memory by itself"), "nothing is named that is not there");
	suspect.judgement.verdict = PLH_VERDICT_MALLOC;
	plh_track_malloc = false;
	ok(tells(" To see call sites of malloc and their statements, turn pg_leakhunt.track_malloc on."),
	   "the evidence of malloc as a whole tells to turn on track_malloc");
	plh_track_malloc = true;
	header.malloc_tracked = 1;
	ok(says(" The call sites of 5000000 B (+/- 1000000 B) of it are known. Threads that are not sampled have allocated 99000000 B in all.") &&
	   !tells("LD_PRELOAD"), "the evidence of malloc as a whole tells what is sampled of it");
	header.malloc_tracked = 0;
}

void
test_suspect_evidence(void)
{
	test_sites();
	test_statement();
	test_shares();
	test_rest_of_shares();
	test_unwritten();
	test_limits();
	test_course_of_cache();
	test_parts();
	test_libraries();
	test_known_sites();
	test_processes();
	test_names();
	test_all_verdicts();
	test_empty_memory();
	test_malloc();
}
