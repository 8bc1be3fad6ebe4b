/*
 * test_lifetimes.c
 *	  Lifetimes of contexts, by where they are.
 */
#include "postgres.h"

#include "nodes/memnodes.h"
#include "replication/walsender.h"
#include "utils/memutils.h"

#include "sampler/lifetime.h"
#include "server.h"
#include "unit_tests.h"

static MemoryContextData top,
			transaction,
			message,
			error,
			portals,
			cache,
			other;

/* Contexts as they hang directly below the top. */
static void
test_top_contexts(void)
{
	TopMemoryContext = &top;
	TopTransactionContext = &transaction;
	MessageContext = &message;
	ErrorContext = &error;
	top.name = "TopMemoryContext";
	transaction.name = message.name = error.name = cache.name = "core's";
	portals.name = "TopPortalContext";
	other.name = "RowDescriptionContext";
	transaction.parent = message.parent = error.parent = &top;
	portals.parent = cache.parent = other.parent = &top;
	ok(plh_lifetime_of(&top) == PLH_LIFETIME_SESSION,
	   "the top context lasts as long as the session");
	ok(plh_lifetime_of(&cache) == PLH_LIFETIME_SESSION,
	   "a context below the top lasts as long as the session");
	ok(plh_lifetime_of(&transaction) == PLH_LIFETIME_TRANSACTION,
	   "the transaction's context lasts as long as the transaction");
	ok(plh_lifetime_of(&message) == PLH_LIFETIME_STATEMENT,
	   "the message's context lasts as long as the statement");
	ok(plh_lifetime_of(&error) == PLH_LIFETIME_ERROR, "the context for errors lasts as long as an error");
	ok(plh_lifetime_of(&portals) == PLH_LIFETIME_QUERY, "the context of portals lasts as long as a query");
	ok(plh_lifetime_of(&other) == PLH_LIFETIME_STATEMENT,
	   "the context that describes rows lasts as long as the statement");

	other.name = "PortalHoldContext";
	other.parent = &portals;
	ok(plh_lifetime_of(&other) == PLH_LIFETIME_SESSION,
	   "the rows of a held cursor last as long as the session");
	other.parent = &top;

	am_walsender = true;
	ok(plh_lifetime_of(&message) == PLH_LIFETIME_SESSION,
	   "the message's context of a walsender lasts as long as the session");
	am_walsender = false;
}

/*
 * Contexts that are nested by the thousand, as a recursive query does.  Each is
 * asked for when it is made, and to walk up all the way would then take forever:
 * so what is far above hangs elsewhere by then, where nobody must look.
 */
static void
test_nested_contexts(void)
{
	enum
	{
		LEVELS = 20000,
		FAR_LEVELS = 64
	};
	static MemoryContextData nested[LEVELS];
	const char *broken = NULL;

	for (int i = 0; i < LEVELS; i++)
	{
		nested[i].name = "nested";
		nested[i].parent = i == 0 ? &portals : &nested[i - 1];
		if (i >= FAR_LEVELS)
			nested[i - FAR_LEVELS].parent = &cache;
		REQUIRE(broken, plh_lifetime_of(&nested[i]) == PLH_LIFETIME_QUERY);
	}
	ok_unbroken(broken, "lifetimes of nested contexts come from what is known a few levels up");

	for (int i = 0; i < LEVELS; i++)
		nested[i].parent = i == 0 ? &cache : &nested[i - 1];
	statement_start++;
	broken = NULL;
	for (int i = 0; i < LEVELS; i += 17)
		REQUIRE(broken, plh_lifetime_of(&nested[i]) == PLH_LIFETIME_SESSION);
	ok_unbroken(broken, "lifetimes of contexts that have moved are known in the next statement");
}

/* A lifetime that was noted holds where it was noted, and in that statement. */
static void
test_noted_lifetime(void)
{
	PlhKnownLifetime known;

	other.parent = &message;
	plh_lifetime_note(&known, &other, PLH_LIFETIME_STATEMENT);
	ok(plh_lifetime_is_known(&known, &other) &&
	   known.lifetime == PLH_LIFETIME_STATEMENT, "a lifetime that was noted is known");
	other.parent = &cache;
	ok(!plh_lifetime_is_known(&known, &other), "a lifetime of a context that has moved is not known");
	other.parent = &message;
	statement_start++;
	ok(!plh_lifetime_is_known(&known, &other), "a lifetime is not known in another statement");
}

/* Lifetimes of contexts, wherever they are. */
void
test_lifetimes(void)
{
	test_top_contexts();
	test_nested_contexts();
	test_noted_lifetime();
}
