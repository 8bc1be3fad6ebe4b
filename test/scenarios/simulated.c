/*
 * simulated.c
 *	  A process of a server, as far as its profile shows it: how it begins and ends, its
 *	  transactions, statements and time.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "sampler/census.h"
#include "sampler/upkeep.h"
#include "server.h"
#include "simulated_proof.h"
#include "simulated_state.h"

Tree		tree;
pg_prng_state chance;
Simulated	simulated;

int64
between(int64 from, int64 to)
{
	return to <= from ? from : from + pg_prng_uint64_range(&chance, 0, to - from);
}

int64
magnitude(int64 from, int64 to)
{
	return (int64) (from * pow((double) to / from, pg_prng_double(&chance)));
}

bool
happens(double probability)
{
	return pg_prng_double(&chance) < probability;
}

int64
simulated_now_us(void)
{
	return simulated.now_us;
}

TimestampTz
simulated_time(void)
{
	return BEGAN_US + simulated.now_us - PLH_UNIX_EPOCH_US;
}

/* Time passes, in which nothing happens. */
void
simulated_wait(int64 us)
{
	simulated.now_us += us;
	statement_start = simulated_time();
}

int64
simulated_lasting_bytes(void)
{
	return simulated.context_bytes - tree.portal->mem_allocated -
		tree.executor->mem_allocated - tree.transaction->mem_allocated;
}

void
simulated_transaction(void)
{
	simulated.transactions++;
#if PG_VERSION_NUM >= 170000
	simulated.proc.vxid.lxid = simulated.transactions;
#else
	simulated.proc.lxid = simulated.transactions;
#endif
	simulated.transaction_us = simulated.now_us;
	simulated.began_at = simulated_time();
}

void
simulated_statement(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(simulated.statement, sizeof(simulated.statement), format, arguments);
	va_end(arguments);
}

void
simulated_query_id(uint64 query_id)
{
	simulated.query_id = query_id;
}

/* A hook that runs without the guard takes it. */
static void
reset_message(void)
{
	plh_guard_held = false;
	reset_context(tree.message);
	plh_guard_held = true;
	context_reset(tree.message);
}

/* The statement ends, and its transaction does not. */
void
simulated_finish(void)
{
	context_reset(tree.executor);
	reset_message();
	simulated.statement[0] = '\0';
}

/* The transaction ends, and with it what does not last; then the client's message does. */
void
simulated_commit(void)
{
	bool		was_long = simulated.now_us - simulated.transaction_us >= 10000;

	context_reset(tree.executor);
	context_reset(tree.transaction);
	if (plh_profile_counters_transaction_over() &&
		simulated_statements.transaction_over != NULL)
		simulated_statements.transaction_over();
	plh_upkeep_run(was_long ? PLH_UPKEEP_LONG_COMMIT : PLH_UPKEEP_SHORT_COMMIT,
				   BEGAN_US + simulated.now_us);
	reset_message();
	simulated_wait(simulated.ways.step_us);
}

void
simulated_begin(uint64 seed, const Ways *ways)
{
	memset(&simulated, 0, sizeof(simulated));
	simulated.ways = *ways;
	simulated.free_sample = -1;
	simulated.allocator = PLH_ALLOCATOR_GLIBC;
	simulated.blocks.data.name = PLH_MALLOC_NAME;
	simulated.blocks.samples = -1;
	pg_prng_seed(&chance, seed);
	pg_prng_seed(&simulated.fates, ~seed);
	tree.top = TopMemoryContext = context_create("TopMemoryContext", NULL);
	tree.cache = context_create("CacheMemoryContext", tree.top);
	tree.message = MessageContext = context_create("MessageContext", tree.top);
	tree.portal = context_create("TopPortalContext", tree.top);
	tree.executor = context_create("ExecutorState", tree.portal);
	tree.transaction = TopTransactionContext =
		context_create("TopTransactionContext", tree.top);
	shell_of(tree.cache)->chunk_bytes = MB;
	simulated_note_size(tree.cache);
	simulated.countdown = plh_sampling_gap(&chance, ways->interval);
	plh_load_settings.max_profile_size = 8 * 1024 * 1024;
	MyProc = &simulated.proc;
	statement_start = simulated_time();
	plh_profile_counters_forget();
	plh_census_forget();
	plh_upkeep_forget();
	if (!plh_profile_begin())
		abort();
	plh_profile->backend_type = B_BACKEND;
	plh_profile->started_at = statement_start;
	plh_profile->sample_interval = ways->interval;
	plh_profile->scope = PLH_SCOPE_ALL;
}

void
simulated_end(void)
{
	simulated.ways.counted_from_us = -1;
	reset_message();
	while (tree.top->firstchild != NULL)
		context_delete(tree.top->firstchild);
	context_delete(tree.top);
	free(simulated.samples);
	simulated_forget_proof();
	plh_profile_forget();
	MyProc = NULL;
}

/* The same process goes on in other ways. */
void
simulated_set_ways(const Ways *ways)
{
	simulated.ways = *ways;
}
