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
	   "the top lasts as long as the session");
	ok(plh_lifetime_of(&cache) == PLH_LIFETIME_SESSION,
	   "so does what hangs below it");
	ok(plh_lifetime_of(&transaction) == PLH_LIFETIME_TRANSACTION,
	   "unless it is the transaction's");
	ok(plh_lifetime_of(&message) == PLH_LIFETIME_STATEMENT,
	   "or the message's");
	ok(plh_lifetime_of(&error) == PLH_LIFETIME_ERROR, "or for errors");
	ok(plh_lifetime_of(&portals) == PLH_LIFETIME_QUERY, "or of portals");
	ok(plh_lifetime_of(&other) == PLH_LIFETIME_STATEMENT,
	   "or describes rows");

	am_walsender = true;
	ok(plh_lifetime_of(&message) == PLH_LIFETIME_SESSION,
	   "a walsender's message lasts as long as the session");
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
	ok_unbroken(broken, "nested contexts, from what is known a few levels up");

	for (int i = 0; i < LEVELS; i++)
		nested[i].parent = i == 0 ? &cache : &nested[i - 1];
	statement_start++;
	broken = NULL;
	for (int i = 0; i < LEVELS; i += 17)
		REQUIRE(broken, plh_lifetime_of(&nested[i]) == PLH_LIFETIME_SESSION);
	ok_unbroken(broken, "they have moved, and the next statement knows");
}

/* A lifetime that was noted holds where it was noted, and in that statement. */
static void
test_noted_lifetime(void)
{
	PlhKnownLifetime known;

	other.parent = &message;
	plh_lifetime_note(&known, &other, PLH_LIFETIME_STATEMENT);
	ok(plh_lifetime_is_known(&known, &other) &&
	   known.lifetime == PLH_LIFETIME_STATEMENT, "a lifetime is noted");
	other.parent = &cache;
	ok(!plh_lifetime_is_known(&known, &other), "not of a context that has moved");
	other.parent = &message;
	statement_start++;
	ok(!plh_lifetime_is_known(&known, &other), "nor for another statement");
}

/* Lifetimes of contexts, wherever they are. */
void
test_lifetimes(void)
{
	test_top_contexts();
	test_nested_contexts();
	test_noted_lifetime();
}
