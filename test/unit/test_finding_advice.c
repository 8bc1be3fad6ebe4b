/*
 * test_finding_advice.c
 *	  What to do about a finding.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/settings.h"
#include "server.h"
#include "suspect_facts.h"
#include "told_finding.h"
#include "unit_tests.h"

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
	find_leak();
	ok(tells("Report this to the authors of pgaudit.so, with what pg_leakhunt_suspects shows as \"stack\"."),
	   "a leak of a library is for its authors");
	find(PLH_KIND_STATEMENT, MB);
	ok(tells("by functions of pgaudit.so, or by functions that these called.") && !tells("EXPLAIN the statement"),
	   "a hook that allocates under a statement is named instead of EXPLAIN");
	frames[1].module = "/pg/lib/plpgsql.so";
	ok(tells("Look in the PL/pgSQL code that the statement runs for variables") && !tells("plpgsql.so"),
	   "PL/pgSQL is a language");
	find_leak();
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
	find(PLH_KIND_STATEMENT, MB);
	ok(tells("Send fewer notifications per transaction") && !tells("aggregate"),
	   "notifications are known by their function");
	frames[0].module = "/pg/lib/queue.so";
	ok(!tells("notifications"), "but not where a library allocates");
	frames[0].module = "/pg/bin/postgres";
	frames[1].function = "assign_record_type_typmod";
	find_leak();
	ok(tells("Use the same column names") && tells("Until this is fixed, limit how long") && !tells("newer minor"),
	   "record types are known by their function");
	find_held();
	ok(tells("Use the same column names") && tells("End the session"), "and so they are where a few transactions left them");
	find(PLH_KIND_CACHE_GROWS, 100 * MB);
	finding.contexts.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CacheMemoryContext"),.lasting = true
	};
	ok(tells("Use the same column names") && !tells("backend("), "and where they make a cache grow");
	listed = NULL;
	ok(tells("fewer tables and partitions"), "other caches hold tables");
}

/* Advice for processes without clients. */
static void
test_processes(void)
{
	find_leak();
	header.backend_type = B_BG_WORKER;
	ok(tells("See which extension started this background worker") &&
	   tells("restart such background workers from time to time: SELECT pg_terminate_backend(123)."), "what to do about a background worker that leaks");
	strlcpy(header.label, "parallel worker", sizeof(header.label));
	ok(tells("Each parallel worker frees it when it ends."), "a parallel worker ends by itself");
	find(PLH_KIND_STATEMENT, 100 * MB);
	ok(tells("aggregate of the leader's statement") && !tells("backend("), "a parallel worker has its leader's statement");
	header.label[0] = '\0';
	header.backend_type = B_AUTOVAC_WORKER;
	ok(tells("pg_stat_progress_vacuum") && !tells("EXPLAIN"), "an autovacuum worker has no statement to explain");
	header.backend_type = B_WAL_SENDER;
	find_held();
	ok(tells("Restart the walsender") && tells("pg_terminate_backend"), "a walsender can be restarted");
	image.alive = false;
	ok(tells("If the walsender still runs, end it"), "the process of a dump may still run");
	image.crashed = true;
	ok(tells("the memory was freed when the walsender ended"), "a process that is gone cannot be ended");
	image.crashed = false;
	image.alive = true;
	header.backend_type = B_BACKEND;
	ok(tells("End the session, unless it will need this memory again: SELECT pg_terminate_backend(123)."),
	   "a session can be ended");
}

static void
test_all_kinds(void)
{
	PlhFamilyAccount family = {.family = plh_family_of("CachedPlan"),.lasting = true};
	int			wrong = 0;

	for (PlhKind kind = 0; kind < PLH_KINDS; kind++)
	{
		find(kind, 100 * MB);
		if (plh_verdict_subject(kind) == PLH_SUBJECT_CONTEXTS)
			finding.contexts.family = &family;
		wrong += !tells(".");
	}
	ok(wrong == 0, "each kind of finding has something to do");
}

static void
test_malloc(void)
{
	find(PLH_KIND_MALLOC_GROWS, 90 * MB);
	finding.growth_bytes = 80 * MB;
	finding.late_bytes = 30 * MB;
	finding.baseline_at = SOME_TIME;
	finding.counted_at = SOME_TIME + 5700000;
	header.malloc_sampled_bytes = 5 * MB;
	header.malloc_sampled_error = MB;
	header.malloc_other_bytes = 99 * MB;
	ok(says("At the last count malloc had given out 90000000 B outside of memory contexts, 80000000 B more than 5.7 s earlier, 30000000 B of it in the second half of that time.") &&
	   !says("call site"), "the evidence of malloc as a whole tells its growth, and no call site");
	finding.late_bytes = -MB;
	ok(says(" 80000000 B more than 5.7 s earlier, none of it in the second half of that time."),
	   "what has fallen in the second half has gained nothing there");
	finding.late_bytes = 80 * MB;
	ok(says(" 5.7 s earlier, all of it in the second half of that time."), "or it has gained all there");
	finding.growth_bytes = 0;
	ok(says("At the last count malloc had given out 90000000 B outside of memory contexts, which is no more than 5.7 s earlier.") &&
	   !says("half"), "what has not grown is not said to have");
	finding.growth_bytes = 80 * MB;
	header.census_at = SOME_TIME;
	header.malloc_bytes = 97 * MB;
	header.own_bytes = 12 * MB;
	ok(says(" all of it in the second half of that time. At the last count most of it had not been written to, so it took less memory than that."),
	   "what malloc gave out and was not written to takes no memory");
	header.census_at = 0;
	header.malloc_bytes = 7 * MB;
	ok(tells(" To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD."),
	   "the evidence of malloc as a whole tells to preload the library");
	ok(tells("ee which of these libraries "), "what to do where the process has loaded nothing by itself");
	loaded_code.has_others = true;
	ok(tells("See what the session does with the libraries that it has loaded by itself."), "what it has loaded is asked for first");
	loaded_code.language = "PL/Perl";
	ok(tells("This session has loaded PL/Perl: see what its functions keep in %_SHARED and global variables."),
	   "a language that it has loaded is named");
	finding.kind = PLH_KIND_MAPPED_GROWS;
	loaded_code.language = "PL/Python";
	ok(tells("see what its functions keep in GD, SD and global variables."), "and so it is where memory was mapped");
	loaded_code = (PlhLoadedCode)
	{
		.has_jit = true
	};
	ok(tells("Turn JIT off with ALTER ROLE ... SET jit = off, or with ALTER SYSTEM SET jit = off and SELECT pg_reload_conf()."),
	   "the compiler of queries is named, too, and how to turn it off in new sessions");
	finding.kind = PLH_KIND_MALLOC_GROWS;
	ok(tells("ALTER ROLE ... SET jit = off"), "and so it is where malloc has given out much");
	loaded_code.has_jit = false;
	finding.kind = PLH_KIND_MAPPED_GROWS;
	ok(tells("Look for code that maps memory by itself"), "nothing is named that is not there");
	finding.kind = PLH_KIND_MALLOC_GROWS;
	plh_track_malloc = false;
	ok(tells(" To see call sites of malloc and their statements, turn pg_leakhunt.track_malloc on."),
	   "the evidence of malloc as a whole tells to turn on track_malloc");
	plh_track_malloc = true;
	header.malloc_tracked = 1;
	ok(says(" The call sites of 5000000 B (+/- 1000000 B) of it are known. Threads that are not sampled have allocated 99000000 B in all.") &&
	   !tells("LD_PRELOAD"), "the evidence of malloc as a whole tells what is sampled of it");
	header.malloc_other_bytes = 0;
	ok(says(" of it are known.") && !says("Threads that are not sampled"), "and of threads only where there are such");
	header.malloc_tracked = 0;
}

/* What has come while one statement runs may go with it. */
static void
test_running(void)
{
	find(PLH_KIND_MALLOC_GROWS, 90 * MB);
	loaded_code = (PlhLoadedCode)
	{
		.has_dblink = true,.has_others = true
	};
	ok(tells("This session has loaded dblink, which keeps each result in memory until it was read. Fetch fewer rows at a time") &&
	   tells("a pool's max lifetime"), "what the client library keeps, over statements, too");
	malloc_statement.may_run = true;
	ok(tells("Cancel the statement to see whether that frees the memory: SELECT pg_cancel_backend(123). If it does not, end the session: SELECT pg_terminate_backend(123). What dblink has received of an unfinished result may stay until dblink_disconnect(), or until the session ends.") &&
	   !tells("lifetime") && !tells("pg_leakhunt_check"), "a statement that runs and has it can be cancelled");
	loaded_code = (PlhLoadedCode)
	{
		.has_others = false
	};
	ok(tells("See which functions of the statement use one of these libraries, as those for xml use libxml2.") &&
	   tells("pg_cancel_backend(123)") && !tells("dblink") && !tells("lifetime"), "so can one that uses a library of the server");
	finding.kind = PLH_KIND_MAPPED_GROWS;
	loaded_code.language = "PL/Python";
	ok(tells("GD, SD and global variables. Cancel the statement") && !tells("lifetime"), "and one that a language maps memory for");
	image.alive = false;
	finding.kind = PLH_KIND_MALLOC_GROWS;
	ok(!tells("backend("), "but not in a process that is gone");
	image.alive = true;
	header.backend_type = B_BG_WORKER;
	ok(!tells("Cancel"), "nor in one without statements of clients");
	header.backend_type = B_BACKEND;
	malloc_statement.may_run = false;
	loaded_code.language = NULL;
}

/* How a statement's memory is freed depends on what its session does. */
static void
test_states(void)
{
	find(PLH_KIND_STATEMENT, 100 * MB);
	server_state = "active";
	ok(tells(" To free it now: SELECT pg_cancel_backend(123).") && !tells("terminate"), "a statement that runs can be cancelled");
	server_state = "idle in transaction";
	ok(tells(" To free it now, end the session: SELECT pg_terminate_backend(123).") && !tells("cancel"),
	   "a session that waits in its transaction can only be ended");
	server_state = "idle";
	ok(tells(" To free it now, end the session: SELECT pg_terminate_backend(123).") && !tells("cancel"),
	   "and so can one that is idle");
	server_state = NULL;
	ok(tells(" To free it now: SELECT pg_cancel_backend(123), or pg_terminate_backend(123) if the session is idle in transaction."),
	   "both are told where it is not known");
	find(PLH_KIND_CONTEXTS_GROW, 100 * MB);
	finding.contexts.family = &(PlhFamilyAccount)
	{
		.family = plh_family_of("CurTransactionContext")
	};
	server_state = "idle in transaction (aborted)";
	ok(tells(" To free it now, end the session: SELECT pg_terminate_backend(123).") && !tells("cancel"),
	   "savepoints of a session that waits go with it");
	server_state = NULL;
}

/* A single value that is very large. */
static void
test_values(void)
{
	PlhFrameText frames[] = {frame_in("pq_getmessage", "/pg/bin/postgres")};
	PlhListedSite site = {.stack = {.frames = frames,.frame_count = 1,.site = "pq_getmessage"}};
	PlhSiteRecord record = {.counters = {.live_bytes = 64 * MB,.live_count = 1}};
	PlhFamilyAccount part = {.family = plh_family_of("MessageContext"),.bytes = 150 * MB};

	listed = &site;
	find(PLH_KIND_STATEMENT, 180 * MB);
	finding.statement.share_count = 1;
	finding.statement.shares[0] = (PlhShare)
	{
		&record, 64 * MB
	};
	finding.statement.part = &part;
	ok(tells("A single value or text of the statement has about 64000000 B") && tells("Pass it as a parameter instead of a literal") &&
	   tells("large object (lo_put)") && !tells("work_mem") && !tells("partitions"), "what to do about a large literal");
	record.counters.live_count = 64;
	ok(!tells("single value") && tells("Make the statement shorter"), "many small chunks are no large value");
	record.counters.live_count = 1;
	part.family = plh_family_of("SetOp hash table");
	ok(!tells("single value"), "nor is what is known by its contexts");
	finding.statement.part = NULL;
	ok(tells("A single value has about 64000000 B, and work_mem does not limit values.") && !tells("Lower work_mem"),
	   "what to do about a large value that is built");
	site.stack.site = "tuplehash_grow (simplehash.h:1)";
	ok(!tells("single value"), "the array of a hash table is none");
	site.stack.site = "tuplesort_begin";
	finding.statement.node_bytes = 170 * MB;
	ok(!tells("single value"), "nor is what a node has");
	listed = NULL;
}

void
test_finding_advice(void)
{
	test_libraries();
	test_known_sites();
	test_processes();
	test_all_kinds();
	test_malloc();
	test_running();
	test_states();
	test_values();
}
