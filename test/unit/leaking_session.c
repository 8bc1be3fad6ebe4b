/*
 * leaking_session.c
 *	  A session of a server, as far as its profile shows it; the workload is
 *	  that of bench/suspects/workload.
 */
#include "postgres.h"

#include "base/settings.h"
#include "leaking_session.h"
#include "unit_tests.h"

/* Later samples are of that transaction, the number of which only goes up. */
void
begin_transaction(Session *session, uint32 number)
{
#if PG_VERSION_NUM >= 170000
	session->proc.vxid.lxid = number;
#else
	session->proc.lxid = number;
#endif
}

/* Later samples are of that statement. */
void
begin_statement(Session *session, const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(session->statement, sizeof(session->statement), format,
			  arguments);
	va_end(arguments);
}

/*
 * A session with an empty profile, which becomes this process' own.  One at a
 * time.
 */
void
begin_session(Session *session, int seed, uint32 interval)
{
	memset(session, 0, sizeof(*session));
	pg_prng_seed(&session->prng, seed);
	session->interval = interval;
	session->countdown = plh_sampling_gap(&session->prng, interval);
	plh_load_settings.max_profile_size = 8 * 1024 * 1024;
	MyProc = &session->proc;
	begin_transaction(session, 1);
	if (!plh_profile_begin())
		ok(false, "a profile for the session begins");
}

void
end_session(void)
{
	plh_profile_forget();
	MyProc = NULL;
	plh_load_settings.max_profile_size = 1024 * 1024;
}

/* The site of samples that the statement takes now. */
uint32
site_of(const Session *session, Allocator allocator, const char *context,
		PlhLifetime lifetime)
{
	PlhStack	stack = {0};
	PlhSiteKey	key;

	stack.addresses = stack.buffer;
	stack.depth = 2;
	stack.truncated = false;
	stack.buffer[0] = ALLOCATOR_ADDRESS(allocator);
	stack.buffer[1] = 0x100000;
	if (session->routine_line > 0)
	{
		stack.buffer[stack.depth++] = 1 +
			PLH_ROUTINE_FRAME(PLH_LANGUAGE_PLPGSQL, session->routine_line,
							  plh_profile_string("shop.add_items()", PLH_CONTEXT_NAME_MAX));
		stack.routines = 1;
	}
	key.stack = allocator == NOBODY ? 0 : plh_profile_stack(&stack);
	key.context_name = plh_profile_string(context, PLH_CONTEXT_NAME_MAX);
	key.statement = plh_profile_statement(0, session->statement);
	key.lifetime = lifetime;
	return plh_profile_site(&key);
}

/*
 * What the hooks do for an allocation, and for its end if it is not kept.
 */
void
allocate_for(Session *session, Allocator allocator, const char *context,
			 PlhLifetime lifetime, Size size, bool kept)
{
	PlhDraw		draw;
	uint32		site;
	uint32		tick;

	session->countdown -= size;
	if (session->countdown > 0)
		return;
	session->countdown = plh_sampling_gap(&session->prng, session->interval);
	draw = plh_sampling_draw(&session->prng, size, session->interval);
	site = site_of(session, allocator, context, lifetime);
	tick = plh_profile_counters_add(site, size, 0, draw);
	if (!kept)
		plh_profile_counters_subtract(site, size, draw, tick);
}

/* The same for what a session keeps. */
void
allocate(Session *session, Allocator allocator, const char *context, Size size)
{
	allocate_for(session, allocator, context, PLH_LIFETIME_SESSION, size,
				 true);
}

static int
random_below(Session *session, int limit)
{
	return pg_prng_uint64_range(&session->prng, 0, limit - 1);
}

/* What the relation cache and the catalog caches keep of a table. */
static void
use_relation(Session *session)
{
	int			table = random_below(session, lengthof(session->relations));

	if (session->relations[table])
		return;
	session->relations[table] = true;
	begin_statement(session, "SELECT count(*) FROM cached_%d;", table);
	for (int i = 0; i < 2; i++)
	{
		allocate(session, RELATION_CACHE, "CacheMemoryContext", 512);
		allocate(session, RELATION_CACHE, "CacheMemoryContext", 1024);
		allocate(session, INDEX_INFO, "index info", 1500);
	}
	for (int i = 0; i < 10; i++)
		allocate(session, CATALOG_CACHE, "CacheMemoryContext", 300);
}

static void
use_function(Session *session)
{
	int			function = random_below(session, lengthof(session->functions));

	if (session->functions[function])
		return;
	session->functions[function] = true;
	begin_statement(session, "SELECT cached_%d();", function);
	for (int i = 0; i < 20; i++)
		allocate(session, FUNCTION_CACHE, "PL/pgSQL function", 400);
}

static void
prepare(Session *session)
{
	if (session->prepared >= 2000)
		return;
	begin_statement(session, "PREPARE cached_%d AS SELECT 1;",
					session->prepared);
	session->prepared++;
	for (int i = 0; i < 10; i++)
		allocate(session, PLAN_CACHE, "CachedPlanSource", 700);
}

static void
fill_table(Session *session)
{
	begin_statement(session, "SELECT fill_cache_once(100, 20000);");
	for (int i = 0; i < 20000 && !session->table; i++)
		allocate(session, HASH_TABLE, "leaker cache", 100);
	session->table = true;
}

/* Each chunk is allocated, reallocated at twice its size, and freed. */
static void
allocate_in_balance(Session *session)
{
	int			size = 100 + random_below(session, 1000);

	begin_statement(session, "SELECT allocate_in_balance(%d, 50);", size);
	for (int i = 0; i < 100; i++)
		allocate_for(session, BALANCED, "TopMemoryContext",
					 PLH_LIFETIME_SESSION, i % 2 == 0 ? size : 2 * size,
					 false);
}

static void
leak(Session *session)
{
	begin_statement(session,
					"SELECT leak_top(50, 1), leak_cache(1000, 1), leak_contexts(100, 1);");
	allocate(session, LEAKING_TOP, "TopMemoryContext", 50);
	allocate(session, LEAKING_IN_CACHE, "CacheMemoryContext", 1000);
	allocate(session, LEAKING_IN_CONTEXT, "leaker leaked context", 100);
}

/* The session of bench/suspects/workload. */
void
run_workload(Session *session, int transactions, bool leaks)
{
	static void (*const kinds[]) (Session *session) =
	{
		use_relation, use_function, prepare, fill_table, allocate_in_balance
	};

	for (int i = 1; i <= transactions; i++)
	{
		begin_transaction(session, i);
		kinds[random_below(session, lengthof(kinds))] (session);
		if (leaks)
			leak(session);
	}
}
