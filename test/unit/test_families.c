/*
 * test_families.c
 *	  Memory contexts that belong together: their account, and the verdicts on them and
 *	  on the statement that runs.
 */
#include "postgres.h"

#include "leaking_session.h"
#include "unit_tests.h"
#include "judge/process_suspect.h"
#include "judge/findings.h"
#include "judge/statement_suspect.h"

#undef MB
#define MB INT64CONST(1048576)
#define START (INT64CONST(1000) * USECS_PER_DAY)
#define STEP(n) (START + (n) * 20 * USECS_PER_SEC)

static PlhFinding finding;
static int64 decoding_bytes;	/* that settings allow */

/* The contexts of a name that were counted so ten seconds after the first of them. */
static PlhContextRecord *
counted(const char *name, PlhLifetime lifetime, int64 instances, int64 bytes)
{
	PlhContextRecord *record =
		plh_profile_context(plh_profile_string(name, PLH_CONTEXT_NAME_MAX), lifetime);

	record->instances = record->most_instances = instances;
	record->bytes = bytes;
	record->first_at = STEP(0);
	plh_profile->census_at = STEP(10);
	plh_profile->context_bytes += bytes;
	if (!plh_lifetime_is_lasting(lifetime))
		plh_profile->passing_bytes += bytes;
	return record;
}

/* Contexts of that name that have become more by the same each second. */
static PlhContextRecord *
growing(const char *name, PlhLifetime lifetime, int64 instances, int64 bytes)
{
	PlhContextRecord *record = counted(name, lifetime, instances, bytes);

	record->rises = 8;
	for (int i = 0; i < PLH_CHECKPOINTS; i++)
	{
		record->checkpoints[i].at = STEP(2 << i);
		record->checkpoints[i].instances = instances * (2 << i) / 10;
		record->checkpoints[i].bytes = bytes * (2 << i) / 10;
	}
	return record;
}

static Session *
begin(void)
{
	Session    *session = palloc(sizeof(Session));

	begin_session(session, 1, 1);
	plh_profile->context_bytes = plh_profile->passing_bytes = 0;
	return session;
}

static void
end(Session *session)
{
	end_session();
	pfree(session);
}

/* What the largest family of the profile is suspect of. */
static PlhVerdict
verdict_on_largest(void)
{
	PlhAccount *account = plh_account_make(plh_profile_image_own(plh_profile));

	return plh_process_suspect_judge_family(&finding, &account->families[0], account, plh_profile,
											STEP(11)) ?
		plh_finding_verdict(&finding) : PLH_VERDICT_NONE;
}

/* The same of contexts of one name only. */
static PlhVerdict
verdict_on(const char *name, PlhLifetime lifetime, int64 instances, int64 bytes,
		   bool grow)
{
	Session    *session = begin();
	PlhVerdict	verdict;

	(void) (grow ? growing : counted) (name, lifetime, instances, bytes);
	plh_profile->decoding_bytes = decoding_bytes;
	verdict = verdict_on_largest();
	end(session);
	return verdict;
}

static void
test_account(void)
{
	Session    *session = begin();
	PlhAccount *account;

	growing("CachedPlan", PLH_LIFETIME_SESSION, 100, 10 * MB);
	growing("CachedPlanSource", PLH_LIFETIME_SESSION, 100, 20 * MB);
	growing("mine", PLH_LIFETIME_SESSION, 7, 15 * MB);
	counted("mine", PLH_LIFETIME_QUERY, 1, 5 * MB);
	plh_profile->malloc_bytes = 60 * MB;
	plh_profile->malloc_free_bytes = 3 * MB;
	plh_profile->own_bytes = 70 * MB;
	account = plh_account_make(plh_profile_image_own(plh_profile));
	ok(account->family_count == 3 && account->families[0].bytes == 30 * MB &&
	   account->families[0].contexts == 200 && account->families[0].lasting &&
	   strcmp(account->families[0].family->title, "prepared statements and cached plans") == 0,
	   "contexts that belong together are added up");
	ok(account->families[0].early_bytes == 15 * MB && account->families[0].early_contexts == 100,
	   "what there was halfway is interpolated");
	ok(account->families[1].bytes == 15 * MB && account->families[1].family == NULL &&
	   account->families[2].bytes == 5 * MB && !account->families[2].lasting,
	   "contexts of another name are by themselves, and those that pass apart");
	ok(account->lasting_bytes == 45 * MB && account->passing_bytes == 5 * MB &&
	   account->outside_bytes == 10 * MB && account->freed_bytes == 3 * MB &&
	   account->other_bytes == 7 * MB, "the parts add up to the process");
	growing("PL/pgSQL function", PLH_LIFETIME_SESSION, 50, 8 * MB);
	account = plh_account_make(plh_profile_image_own(plh_profile));
	ok(account->family_count == 3 && account->families[0].bytes == 38 * MB &&
	   strcmp(account->families[0].family->title, "compiled functions and their plans") == 0,
	   "plans belong to functions where these have much");
	end(session);
}

/* Contexts of which each has advice of its own; the later names are those of 19. */
static void
test_names_of_hash_tables(void)
{
	static const char *const names[][2] = {
		{"RecursiveUnion hash table", "RecursiveUnion hashed tuples"},
		{"SetOp hash table", "SetOp hashed tuples"},
		{"Subplan HashTable Context", "SubPlan hashed tuples"},
		{"HashAgg table context", "HashAgg hashed tuples"}
	};
	int			wrong = 0;

	for (int i = 0; i < lengthof(names); i++)
	{
		const PlhFamily *family = plh_family_of(names[i][0]);

		wrong += family == NULL || plh_family_of(names[i][1]) != family;
		for (int k = 0; k < i; k++)
			wrong += plh_family_of(names[k][0]) == family;
	}
	ok(wrong == 0, "hash tables of each kind are a family");
}

/* What was counted when samples stood for most bounds what a site held then. */
static void
test_peak(void)
{
	Session    *session = begin();

	plh_profile->peak_bytes = 38 * MB;
	plh_profile->history_count = 2;
	plh_profile->history[0].live_bytes = 20 * MB;
	plh_profile->history[0].context_bytes = 25 * MB;
	plh_profile->history[0].malloc_bytes = 24 * MB;
	plh_profile->history[1] = plh_profile->history[0];
	ok(plh_account_peak_bound(plh_profile) == PG_INT64_MAX, "counts of other times bound no peak");
	plh_profile->history[1].live_bytes = 38 * MB;
	ok(plh_account_peak_bound(plh_profile) == 25 * MB, "what contexts had at the peak bounds it");
	plh_profile->history[1].live_bytes = 38 * MB - MB / 2;
	ok(plh_account_peak_bound(plh_profile) == 25 * MB + MB / 2, "what came after the count is added to it");
	plh_profile->malloc_tracked = 1;
	ok(plh_account_peak_bound(plh_profile) == 24 * MB + MB / 2, "sites of malloc are bound by what it had given out");
	plh_profile->history[1].malloc_bytes = -1;
	ok(plh_account_peak_bound(plh_profile) == PG_INT64_MAX, "what was not counted bounds nothing");
	end(session);
}

static void
test_verdicts(void)
{
	ok(verdict_on("mine", PLH_LIFETIME_SESSION, 1000, 40 * MB, true) == PLH_VERDICT_CONTEXTS &&
	   finding.contexts.family->contexts == 1000 && finding.contexts.late_contexts == 500 && finding.rate.is_known,
	   "contexts that become more are suspect");
	ok(verdict_on("mine", PLH_LIFETIME_SESSION, 1000, 32 * MB, true) == PLH_VERDICT_CONTEXTS &&
	   verdict_on("mine", PLH_LIFETIME_SESSION, 1000, 32 * MB - 1, true) == PLH_VERDICT_NONE,
	   "contexts are suspect from 32 MB on");
	ok(verdict_on("mine", PLH_LIFETIME_SESSION, 64, 40 * MB, true) == PLH_VERDICT_CONTEXTS &&
	   verdict_on("mine", PLH_LIFETIME_SESSION, 60, 40 * MB, true) == PLH_VERDICT_NONE,
	   "contexts must be at least 32 more to be suspect");
	ok(verdict_on("mine", PLH_LIFETIME_SESSION, 1024, 40 * MB, false) == PLH_VERDICT_HELD &&
	   verdict_on("mine", PLH_LIFETIME_SESSION, 1023, 40 * MB, false) == PLH_VERDICT_NONE,
	   "1,024 contexts are held");
	ok(verdict_on("CachedPlan", PLH_LIFETIME_SESSION, 5000, 128 * MB, false) == PLH_VERDICT_HELD &&
	   verdict_on("CachedPlan", PLH_LIFETIME_SESSION, 5000, 128 * MB - 1, false) == PLH_VERDICT_NONE,
	   "plans that are there since long are worth a word from 128 MB on");
	ok(verdict_on("CachedPlan", PLH_LIFETIME_SESSION, 5000, 48 * MB, true) == PLH_VERDICT_CONTEXTS &&
	   verdict_on("CachedPlan", PLH_LIFETIME_SESSION, 5000, 48 * MB - 1, true) == PLH_VERDICT_NONE,
	   "plans that become more are suspect from 48 MB on");
	ok(verdict_on("PortalHoldContext", PLH_LIFETIME_SESSION, 16, 40 * MB, false) == PLH_VERDICT_HELD &&
	   verdict_on("PortalHoldContext", PLH_LIFETIME_SESSION, 15, 400 * MB, false) == PLH_VERDICT_NONE,
	   "rows of 16 held cursors are held");
	ok(verdict_on("CacheMemoryContext", PLH_LIFETIME_SESSION, 1, 400 * MB, false) == PLH_VERDICT_NONE &&
	   verdict_on("CacheMemoryContext", PLH_LIFETIME_SESSION, 1, 400 * MB, true) == PLH_VERDICT_GROWING,
	   "a cache that grows is said to grow");
	decoding_bytes = 64 * MB;
	ok(verdict_on("Tuples", PLH_LIFETIME_SESSION, 1, 97 * MB, false) == PLH_VERDICT_QUERY &&
	   verdict_on("Tuples", PLH_LIFETIME_SESSION, 1, 96 * MB, false) == PLH_VERDICT_NONE,
	   "changes that are decoded may be beyond their limit, and are freed when they have been sent");
	ok(verdict_on("TXN", PLH_LIFETIME_SESSION, 1, 40 * MB, false) == PLH_VERDICT_QUERY,
	   "subtransactions that are decoded have no limit");
	decoding_bytes = 0;
	ok(verdict_on("CurTransactionContext", PLH_LIFETIME_TRANSACTION, 1024, 40 * MB, false) == PLH_VERDICT_CONTEXTS &&
	   verdict_on("CurTransactionContext", PLH_LIFETIME_TRANSACTION, 1023, 40 * MB, false) == PLH_VERDICT_NONE,
	   "many contexts of a transaction are a cause by themselves");
	ok(verdict_on("HashBatchContext", PLH_LIFETIME_QUERY, 2000, 4000 * MB, false) == PLH_VERDICT_NONE,
	   "the nodes of a plan are judged with their statement");
}

/* Contexts that became many early, and have not become more since. */
static void
test_rest(void)
{
	Session    *session = begin();
	PlhContextRecord *record = growing("mine", PLH_LIFETIME_SESSION, 1000, 40 * MB);

	record->checkpoints[PLH_CHECKPOINTS - 1].at = STEP(7);
	record->checkpoints[PLH_CHECKPOINTS - 1].instances = 1000;
	ok(verdict_on_largest() == PLH_VERDICT_NONE && finding.contexts.late_contexts > 32,
	   "contexts that do not become more in the last quarter of their time are no suspects");
	end(session);
}

/* Contexts that become more, in a process that was counted at 1 s, 9 s and 10 s. */
static void
test_rates(void)
{
	Session    *session = begin();

	growing("mine", PLH_LIFETIME_SESSION, 1000, 40 * MB);
	plh_profile->history_count = 2;
	plh_profile->history[0].at = STEP(1);
	plh_profile->history[1].at = STEP(4);
	plh_profile->history[1].context_bytes = 20 * MB;
	ok(verdict_on_largest() == PLH_VERDICT_CONTEXTS && finding.rate.is_known,
	   "contexts that become more have a rate");
	plh_profile->history[1].context_bytes = plh_profile->context_bytes;
	ok(verdict_on_largest() == PLH_VERDICT_CONTEXTS && !finding.rate.is_known,
	   "contexts have none when all that stays has not grown for 6 s");
	end(session);
}

/* A cache that was filled early, and has been full since. */
static void
test_full_cache(void)
{
	Session    *session = begin();
	PlhContextRecord *record = counted("CacheMemoryContext", PLH_LIFETIME_SESSION, 1, 70 * MB);

	for (int i = 0; i < PLH_CHECKPOINTS; i++)
	{
		record->checkpoints[i].at = STEP(2 << i);
		record->checkpoints[i].instances = 1;
		record->checkpoints[i].bytes = 69 * MB;
	}
	ok(verdict_on_largest() == PLH_VERDICT_NONE, "a cache that is full is no suspect");
	end(session);
}

/* Is a statement suspect whose settings allow 8 MB, with that at one site? */
static bool
is_statement(int64 at_one_site, int64 then, int64 sampled)
{
	PlhAccount *account = plh_account_make(plh_profile_image_own(plh_profile));
	PlhStatementSamples samples = {
		.bytes = sampled,
		.samples = sampled / MB,
		.variance = (double) sampled * MB,
		.largest_bytes = at_one_site,
		.limit_bytes = 8 * MB
	};

	plh_profile->passing_sampled_bytes = then;
	return plh_statement_suspect_judge(&finding, &samples, account, plh_profile, STEP(11));
}

static void
test_statements(void)
{
	Session    *session = begin();

	counted("ExecutorState", PLH_LIFETIME_QUERY, 1, 40 * MB);
	ok(is_statement(17 * MB, 40 * MB, 40 * MB) && finding.bytes == 40 * MB &&
	   finding.error_bytes == 0, "what a statement holds is counted");
	ok(!is_statement(16 * MB, 40 * MB, 40 * MB), "a site may hold twice what a node may");
	plh_profile->transaction_began_at = plh_profile->census_at + 1;
	ok(is_statement(17 * MB, 40 * MB, 48 * MB) && finding.bytes == 48 * MB && finding.error_bytes > 0,
	   "what was counted in another transaction is not this one's");
	ok(!is_statement(17 * MB, 40 * MB, 36 * MB), "an estimate counts less its error");
	plh_profile->transaction_began_at = plh_profile->census_at;
	ok(is_statement(100 * MB, 40 * MB, 100 * MB) && finding.bytes == 100 * MB &&
	   finding.error_bytes > 0 && finding.error_bytes < 40 * MB && finding.statement.counted_bytes == 40 * MB,
	   "what was allocated since the count is an estimate");
	ok(!is_statement(20 * MB, 80 * MB, 20 * MB) && finding.bytes == 10 * MB,
	   "what was freed since the count is no more held");
	counted("HashBatchContext", PLH_LIFETIME_QUERY, 10, 100 * MB);
	ok(!is_statement(MB, 140 * MB, 140 * MB) && finding.statement.nodes == 10 &&
	   finding.statement.node_bytes == 100 * MB, "nodes within their limits are no suspects");
	counted("TupleSort main", PLH_LIFETIME_QUERY, 6, 40 * MB);
	ok(is_statement(MB, 180 * MB, 180 * MB) && finding.statement.nodes == 16,
	   "16 nodes are a cause, though each is within its limit");
	end(session);
	session = begin();
	counted("MessageContext", PLH_LIFETIME_STATEMENT, 1, 64 * MB);
	ok(is_statement(MB, 64 * MB, 64 * MB), "parse trees are suspects from 64 MB on");
	end(session);
	session = begin();
	counted("MessageContext", PLH_LIFETIME_STATEMENT, 1, 64 * MB - 1);
	ok(!is_statement(MB, 64 * MB, 64 * MB - 1), "smaller ones are not");
	end(session);
	session = begin();
	counted("HashBatchContext", PLH_LIFETIME_QUERY, 2, 40 * MB);
	ok(is_statement(MB, 40 * MB, 40 * MB), "nodes beyond twice their limits are suspects");
	end(session);
	session = begin();
	counted("ExecutorState", PLH_LIFETIME_QUERY, 1, 40 * MB);
	counted("HashBatchContext", PLH_LIFETIME_SESSION, 2, 40 * MB);
	ok(!is_statement(MB, 40 * MB, 40 * MB) && finding.statement.nodes == 0, "nodes that the session keeps are not the statement's");
	end(session);
	session = begin();
	counted("mine", PLH_LIFETIME_QUERY, 1, 128 * MB);
	ok(!is_statement(MB, 128 * MB, 128 * MB), "what no node holds may be 16 times what one may");
	end(session);
	session = begin();
	counted("mine", PLH_LIFETIME_QUERY, 1, 128 * MB + 1);
	ok(is_statement(MB, 128 * MB + 1, 128 * MB + 1), "more is suspect");
	end(session);
}

/*
 * The finding on 100 cursors that are held, of whose 40 MB "allocators" have allocated the
 * same each, for as many statements.
 */
static PlhFinding
finding_on_cursors(int allocators)
{
	Session    *session = begin();
	PlhFinding	found;

	counted("PortalHoldContext", PLH_LIFETIME_SESSION, 100, 40 * MB);
	for (int i = 0; i < 100; i++)
	{
		begin_statement(session, "DECLARE c%d CURSOR", i);
		allocate(session, BALANCED - i % allocators, "PortalHoldContext", 40 * MB / 100);
	}
	plh_profile->published_bytes = plh_profile->used_bytes;
	found = plh_findings_make(plh_profile_image_own(plh_profile), NULL, STEP(11), NULL)->list[0];
	end(session);
	return found;
}

/* Contexts are named after a function only if it has much of what is in them. */
static void
test_names_of_contexts(void)
{
	PlhFinding	found = finding_on_cursors(1);

	ok(found.kind == PLH_KIND_CONTEXTS_HOLD && found.site != NULL && !found.contexts.is_scattered,
	   "a function has much of contexts that it has for many statements");
	found = finding_on_cursors(6);
	ok(found.site != NULL && !found.contexts.is_scattered, "and so has one of six");
	found = finding_on_cursors(10);
	ok(found.site != NULL && found.contexts.is_scattered, "but not one of ten");
}

void
test_families(void)
{
	test_account();
	test_names_of_hash_tables();
	test_peak();
	test_verdicts();
	test_rest();
	test_rates();
	test_full_cache();
	test_statements();
	test_names_of_contexts();
}
