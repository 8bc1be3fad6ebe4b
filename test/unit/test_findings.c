/*
 * test_findings.c
 *	  What is found at the sites of a profile: in a session with caches and leaks
 *	  as in bench/suspects/workload, and of sites that are judged together.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/clock.h"
#include "births.h"
#include "leaking_session.h"
#include "unit_tests.h"
#include "judge/findings.h"
#include "judge/statement_suspect.h"

static PlhFindings *
findings_since(const PlhBaseline *baseline)
{
	return plh_findings_make(plh_profile_image_own(plh_profile), baseline,
							 plh_clock_coarse_now(), NULL);
}

static Allocator
allocator_of(const PlhFinding *finding)
{
	PlhStackRecord *stack = (PlhStackRecord *)
		((char *) plh_profile + finding->site->key.stack);

	return ALLOCATOR_AT(PLH_FRAME_ADDRESS(stack->frames[0]));
}

/* The leak of an allocator, or NULL. */
static const PlhFinding *
leak_of(const PlhFindings *findings, Allocator allocator)
{
	for (int i = 0; i < findings->count; i++)
		if (findings->list[i].kind == PLH_KIND_SITE_LEAKS &&
			allocator_of(&findings->list[i]) == allocator)
			return &findings->list[i];
	return NULL;
}

/* The leaks of the workload. */
static const struct
{
	Allocator	allocator;
	int			bytes;			/* per transaction */
	const char *name;
}			leaks[] =

{
	{LEAKING_TOP, 50, "a leak of 50 bytes per transaction is found"},
	{LEAKING_IN_CACHE, 1000, "a leak of 1,000 bytes per transaction is found"},
	{LEAKING_IN_CONTEXT, 100, "a leak of whole contexts is found"}
};

/* What was found in all sessions. */
typedef struct Tally
{
	int			found[lengthof(leaks)]; /* sessions */
	int			within;			/* estimates, of their error */
	int			others;			/* findings that are no leaks */
} Tally;

static void
count_findings(Tally *tally, const PlhFindings *findings, int transactions)
{
	tally->others += findings->count;
	for (int i = 0; i < lengthof(leaks); i++)
	{
		const PlhFinding *finding = leak_of(findings, leaks[i].allocator);
		int64		truth = (int64) leaks[i].bytes * transactions;

		if (finding == NULL)
			continue;
		tally->found[i]++;
		tally->others--;
		tally->within += llabs(finding->bytes - truth) <=
			finding->error_bytes;
	}
}

/* One session of the workload, which leaks or does not. */
static void
judge_session(Tally *tally, int seed, bool leaking)
{
	enum
	{
		TRANSACTIONS = 20000
	};
	Session    *session = palloc(sizeof(Session));

	begin_session(session, seed, 16384);
	run_workload(session, TRANSACTIONS, leaking);
	count_findings(tally, findings_since(NULL), TRANSACTIONS);
	end_session();
	pfree(session);
}

/* The workload with several seeds, as bench/suspects/run runs it. */
static void
test_workload(void)
{
	enum
	{
		SEEDS = 10
	};
	Tally		leaking = {{0}};
	Tally		clean = {{0}};

	for (int seed = 1; seed <= SEEDS; seed++)
	{
		judge_session(&leaking, seed, true);
		judge_session(&clean, seed, false);
	}
	for (int i = 0; i < lengthof(leaks); i++)
		ok(leaking.found[i] == SEEDS, leaks[i].name);
	printf("# %d of %d estimates are within their error\n", leaking.within,
		   (int) lengthof(leaks) * SEEDS);
	ok(leaking.within >= lengthof(leaks) * SEEDS * 8 / 10,
	   "nearly all estimates are within their error");
	ok(leaking.others == 0, "no site beside the leaks is a suspect");
	ok(clean.others == 0, "no cache is a suspect without leaks");
}

/* A site that leaks in each of many transactions, in such contexts. */
static int
findings_in(const char *context, Allocator allocator, PlhLifetime lifetime)
{
	Session    *session = palloc(sizeof(Session));
	int			count;

	begin_session(session, 1, 1);
	begin_statement(session, "SELECT x1;");
	for (int i = 1; i < 100; i++)
	{
		begin_transaction(session, i);
		allocate_for(session, allocator, context, lifetime, 10000, true);
	}
	count = findings_since(NULL)->count;
	end_session();
	pfree(session);
	return count;
}

static int
findings_of_kind(Allocator allocator, PlhLifetime lifetime)
{
	return findings_in("some context", allocator, lifetime);
}

static void
test_kinds(void)
{
	ok(findings_of_kind(LEAKING_TOP, PLH_LIFETIME_SESSION) == 1,
	   "what a session keeps is judged");
	ok(findings_of_kind(LEAKING_TOP, PLH_LIFETIME_TRANSACTION) == 0,
	   "what a transaction keeps is not judged");
	ok(findings_of_kind(LEAKING_TOP, PLH_LIFETIME_QUERY) == 0,
	   "what a query keeps is not judged");
	ok(findings_of_kind(NOBODY, PLH_LIFETIME_SESSION) == 0,
	   "what has no stack is not judged");
	ok(findings_in("CacheMemoryContext", LEAKING_TOP, PLH_LIFETIME_SESSION) == 1,
	   "a site in CacheMemoryContext is judged by itself");
	ok(findings_in("CachedPlanSource", LEAKING_TOP, PLH_LIFETIME_SESSION) == 0,
	   "a site in contexts of plans is not judged by itself");
}

/* Which setting limited what limit_of was last asked for. */
static PlhLimitKind limit_kind;

/* What a process of that type may hold in contexts of a name, beside others of another. */
static int64
limit_of(BackendType type, const char *other, int others, const char *context,
		 PlhLifetime lifetime)
{
	Session    *session = palloc(sizeof(Session));
	const PlhProfileImage *image;
	uint32		site;
	int64		limit;

	begin_session(session, 1, 1);
	begin_statement(session, "SELECT x1;");
	plh_profile->backend_type = type;
	plh_profile->node_memory_bytes = 8000;
	plh_profile->maintenance_bytes = 64000;
	plh_profile->decoding_bytes = 65000;
	site = site_of(session, BALANCED, context, lifetime);
	if (other != NULL)
		plh_profile_context(plh_profile_string(other, PLH_CONTEXT_NAME_MAX),
							lifetime)->instances = others;
	image = plh_profile_image_own(plh_profile);
	limit_kind = plh_statement_limit_kind(image, plh_profile_image_site(image, site));
	limit = plh_statement_limit_judged(image, plh_profile_image_site(image, site));
	end_session();
	pfree(session);
	return limit;
}

static int64
limit_in(const char *context, PlhLifetime lifetime)
{
	return limit_of(B_BACKEND, NULL, 0, context, lifetime);
}

/* The limit of the output of a statement, with so many contexts of decoding. */
static int64
limit_of_output(int decoding)
{
	return limit_of(B_BACKEND, "Logical decoding context", decoding, "CurTransactionContext",
					PLH_LIFETIME_TRANSACTION);
}

static void
test_limits(void)
{
	ok(limit_in("ExecutorState", PLH_LIFETIME_QUERY) == 8000,
	   "a node of a plan may take work_mem");
	ok(limit_in("TupleSort main", PLH_LIFETIME_QUERY) == 8000,
	   "a sort of a query may take work_mem");
	ok(limit_in("GiST temporary context", PLH_LIFETIME_QUERY) == 64000 &&
	   limit_kind == PLH_LIMIT_MAINTENANCE, "an index build may take maintenance_work_mem");
	ok(limit_in("Analyze", PLH_LIFETIME_QUERY) == 64000 && limit_kind == PLH_LIMIT_NONE,
	   "no setting limits a sample of rows, which is no suspect up to a size");
	ok(limit_in("TXN", PLH_LIFETIME_QUERY) == 65000 &&
	   limit_in("Change", PLH_LIFETIME_TRANSACTION) == 65000,
	   "a function that decodes the log may take its limit");
	ok(limit_in("CurTransactionContext", PLH_LIFETIME_TRANSACTION) == 8000 &&
	   limit_of_output(1) == 65000, "so may its output, which is in a subtransaction");
	ok(limit_of_output(0) == 8000, "as long as it decodes");
	ok(limit_in("TXN", PLH_LIFETIME_SESSION) == 0,
	   "a session that is no walsender has no limit for decoding");
	ok(limit_of(B_WAL_SENDER, NULL, 0, "TXN", PLH_LIFETIME_SESSION) == 65000,
	   "a walsender has it for as long as it lives");
	ok(limit_of(B_AUTOVAC_WORKER, NULL, 0, "Portal", PLH_LIFETIME_QUERY) == 64000,
	   "an autovacuum worker may take maintenance_work_mem");
	ok(limit_kind == PLH_LIMIT_AUTOVACUUM, "or its own setting");
	ok(limit_in("LocalBufferContext", PLH_LIFETIME_SESSION) == PG_INT64_MAX,
	   "buffers of temporary tables have no known limit");
}

/* A few chunks each of many statements, the last of them the largest. */
static void
run_statements(Session *session, Allocator allocator, int statements)
{
	for (int i = 1; i <= statements; i++)
	{

		begin_statement(session, "SELECT x%d;", i);
		begin_transaction(session, i);
		allocate(session, allocator, "TopMemoryContext", 30000 + i);
	}
}

/* A chunk in each of many transactions from that one on, of one statement. */
static void
keep_leaking(Session *session, Allocator allocator, int first)
{
	begin_statement(session, "SELECT x7;");
	for (int i = first; i < first + 159; i++)
	{
		begin_transaction(session, i);
		allocate(session, allocator, "TopMemoryContext", 5000);
	}
}

/* A baseline at which nothing was held; there is room for many sites. */
static PlhBaseline *
empty_baseline(void)
{
	return palloc0(offsetof(PlhBaseline, sites) + 4096 * sizeof(PlhBaselineSite));
}

/* A baseline of what is held now. */
static PlhBaseline *
take_baseline(void)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	PlhBaseline *baseline = empty_baseline();
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		PlhBaselineSite *entry = &baseline->sites[baseline->site_count++];

		entry->site = plh_profile_image_offset(image, site);
		entry->live_bytes = site->counters.live_bytes;
		entry->live_count = site->counters.live_count;
	}
	return baseline;
}

static const char *
statement_of(const PlhFinding *finding)
{
	return ((PlhStatementRecord *)
			((char *) plh_profile + finding->site->key.statement))->text;
}

static void
test_statements(void)
{
	PlhDraw		exact = {.interval_bytes = 1};
	Session    *session = palloc(sizeof(Session));
	PlhBaseline *nothing = empty_baseline();
	PlhBaseline *all;
	PlhFindings *findings;
	uint32		emptied;

	begin_session(session, 1, 1);
	run_statements(session, LEAKING_TOP, 40);
	ok(findings_since(NULL)->count == 0,
	   "what many statements keep is no suspect by itself");
	findings = findings_since(nothing);
	ok(findings->count == 1 &&
	   findings->list[0].kind == PLH_KIND_SITE_GROWS,
	   "what many statements keep has grown together since the baseline");
	ok(findings->list[0].bytes == 40 * 30000 + 40 * 41 / 2 &&
	   findings->list[0].sites.live_count == 40,
	   "the growth of many statements is what all of them keep");
	ok(findings->list[0].sites.statements == 40 &&
	   findings->list[0].sites.epochs == 40, "the growth of many statements has their number");
	ok(strcmp(statement_of(&findings->list[0]), "SELECT x40;") == 0,
	   "the growth of many statements names that which keeps most");
	ok(!findings->list[0].rate.is_known,
	   "the growth of many statements has no rate without the time of the baseline");

	nothing->taken_at = plh_profile->started_at - 1;
	ok(findings_since(nothing)->count == 0, "a baseline of an earlier process is none");
	nothing->taken_at = plh_profile->started_at;
	ok(findings_since(nothing)->count == 1, "one that was taken when the process began is");
	nothing->taken_at = 0;

	/* what one frees, another allocates */
	all = take_baseline();
	ok(findings_since(all)->count == 0, "nothing has grown since a later baseline");
	begin_statement(session, "SELECT x40;");
	emptied = site_of(session, LEAKING_TOP, "TopMemoryContext",
					  PLH_LIFETIME_SESSION);
	subtract_oldest(emptied, 30040, exact);
	begin_statement(session, "SELECT x41;");
	allocate(session, LEAKING_TOP, "TopMemoryContext", 30040);
	ok(findings_since(all)->count == 0,
	   "nothing has grown if one statement keeps what another has freed");

	/* one of them goes on, in the transactions that follow */
	keep_leaking(session, LEAKING_TOP, 41);
	findings = findings_since(nothing);
	ok(findings->count == 1 &&
	   findings->list[0].kind == PLH_KIND_SITE_LEAKS &&
	   findings->list[0].sites.statements == 1 &&
	   strcmp(statement_of(&findings->list[0]), "SELECT x7;") == 0,
	   "of several statements the one that leaks is a suspect alone");
	run_statements(session, PLAN_CACHE, 40);
	findings = findings_since(nothing);
	ok(findings->count == 2 &&
	   findings->list[0].kind == PLH_KIND_SITE_LEAKS &&
	   findings->list[1].kind == PLH_KIND_SITE_GROWS,
	   "leaks come before what is growing");
	end_session();
	pfree(session);
}

/* Chunks of these sizes in contexts of plans, each for a statement of its own. */
static void
prepare(Session *session, const int *sizes, int count)
{
	for (int i = 0; i < count; i++)
	{
		begin_statement(session, "SELECT x%d;", i + 1);
		begin_transaction(session, i + 1);
		allocate(session, PLAN_CACHE, "CachedPlanSource", sizes[i]);
	}
}

/* The statement of the site that stands for plans that are held, with such chunks. */
static const char *
statement_of_plans(const int *sizes, int count)
{
	Session    *session = palloc(sizeof(Session));
	const PlhFindings *findings;
	PlhContextRecord *plans;
	const char *statement = "";

	begin_session(session, 1, 1);
	prepare(session, sizes, count);
	plans = plh_profile_context(plh_profile_string("CachedPlanSource",
												   PLH_CONTEXT_NAME_MAX),
								PLH_LIFETIME_SESSION);
	plans->instances = 5000;
	plans->bytes = plh_profile->context_bytes = 200 * INT64CONST(1048576);
	plans->first_at = USECS_PER_SEC;
	plh_profile->census_at = 10 * USECS_PER_SEC;
	findings = findings_since(NULL);
	if (findings->count == 1 && findings->list[0].context == plans &&
		findings->list[0].site != NULL)
		statement = pstrdup(statement_of(&findings->list[0]));
	end_session();
	pfree(session);
	return statement;
}

/* The findings on a site that leaks in so many contexts, which hold much together. */
static int
findings_in_contexts(int instances)
{
	Session    *session = palloc(sizeof(Session));
	PlhContextRecord *contexts;
	int			count;

	begin_session(session, 1, 1);
	keep_leaking(session, LEAKING_TOP, 1);
	contexts = plh_profile_context(plh_profile_string("TopMemoryContext", PLH_CONTEXT_NAME_MAX),
								   PLH_LIFETIME_SESSION);
	contexts->instances = instances;
	contexts->bytes = plh_profile->context_bytes = 200 * INT64CONST(1048576);
	contexts->first_at = USECS_PER_SEC;
	plh_profile->census_at = 10 * USECS_PER_SEC;
	count = findings_since(NULL)->count;
	end_session();
	pfree(session);
	return count;
}

static void
test_plans(void)
{
	const int	different[] = {3000, 5000, 4000};
	const int	equal[] = {3000, 5000, 5000};

	ok(strcmp(statement_of_plans(different, 3), "SELECT x2;") == 0,
	   "contexts are shown with the site that holds most of them");
	ok(strcmp(statement_of_plans(equal, 3), "SELECT x2;") == 0,
	   "of sites that hold as much as another, contexts are shown with the first");
	ok(findings_in_contexts(1) == 1 && findings_in_contexts(5000) == 1,
	   "where contexts are to blame, a site in them is no suspect beside them");
}

/*
 * A session in which malloc gives out 40 MB in 100 transactions, a part of it at one
 * site that is sampled, in a number of blocks per transaction.
 */
static void
use_malloc(Session *session, int part_percent, int blocks)
{
	PlhProfileHeader *header;

	begin_session(session, 1, 1);
	header = plh_profile;
	begin_statement(session, "SELECT x1;");
	for (int i = 1; i <= 100; i++)
	{
		PlhHistoryPoint *point = &header->history[header->history_count++];

		begin_transaction(session, i);
		for (int block = 0; block < blocks; block++)
			allocate_for(session, LEAKING_TOP, PLH_MALLOC_NAME,
						 PLH_LIFETIME_PROCESS, 4000 * part_percent / blocks,
						 true);
		point->at = header->census_at = i * USECS_PER_SEC;
		point->malloc_bytes = header->malloc_bytes = i * INT64CONST(400000);
	}
	header->malloc_sampled_bytes = header->malloc_counters.live_bytes;
}

/* The verdicts on that session, the first of a site, as "malloc" or "malloc, malloc". */
static const char *
verdicts_on_malloc(int part_percent, int blocks, int64 missed_bytes)
{
	Session    *session = palloc(sizeof(Session));
	const PlhFindings *findings;
	char	   *verdicts = "";

	use_malloc(session, part_percent, blocks);
	plh_profile->malloc_sampled_bytes += missed_bytes;
	findings = findings_since(NULL);
	for (int i = 0; i < findings->count; i++)
		verdicts = psprintf("%s%s%s", verdicts,
							plh_verdict_name(plh_finding_verdict(&findings->list[i])),
							findings->list[i].site != NULL ? " of a site, " : ", ");
	end_session();
	pfree(session);
	return verdicts;
}

static void
test_malloc_sites(void)
{
	ok(strcmp(verdicts_on_malloc(100, 1, 0), "malloc of a site, ") == 0,
	   "a site of malloc that leaks is a suspect, and malloc as a whole is none");
	ok(strcmp(verdicts_on_malloc(51, 1, 0), "malloc of a site, ") == 0,
	   "a site that holds half of malloc's growth is a suspect alone");
	ok(strcmp(verdicts_on_malloc(48, 1, 0), "malloc, malloc of a site, ") == 0,
	   "a site that holds less than half of malloc's growth is a suspect beside malloc");
	ok(strcmp(verdicts_on_malloc(48, 1000, 0), "malloc of a site, ") == 0,
	   "what malloc adds to small blocks is that of their site");
	ok(strcmp(verdicts_on_malloc(0, 1, 0), "malloc, ") == 0,
	   "malloc is a suspect alone where no site is known");
	ok(strcmp(verdicts_on_malloc(100, 1, 1048576), "malloc of a site, ") == 0 &&
	   strcmp(verdicts_on_malloc(100, 1, 1048577), "malloc, ") == 0,
	   "no site is where frees of malloc are missed");
}

void
test_findings(void)
{
	test_workload();
	test_kinds();
	test_limits();
	test_statements();
	test_plans();
	test_malloc_sites();
}
