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

/* Lifetimes, also where contexts are nested by the thousand. */
void
test_lifetimes(void)
{
	enum
	{
		LEVELS = 20000
	};
	static MemoryContextData top,
				transaction,
				message,
				error,
				portals,
				cache,
				other;
	static MemoryContextData nested[LEVELS];
	bool		right = true;

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
	ok(plh_lifetime_of(&top) == PLH_LIFETIME_SESSION &&
	   plh_lifetime_of(&cache) == PLH_LIFETIME_SESSION &&
	   plh_lifetime_of(&transaction) == PLH_LIFETIME_TRANSACTION &&
	   plh_lifetime_of(&message) == PLH_LIFETIME_STATEMENT &&
	   plh_lifetime_of(&error) == PLH_LIFETIME_ERROR &&
	   plh_lifetime_of(&portals) == PLH_LIFETIME_QUERY &&
	   plh_lifetime_of(&other) == PLH_LIFETIME_STATEMENT,
	   "lifetimes of the contexts at the top");

	am_walsender = true;
	ok(plh_lifetime_of(&message) == PLH_LIFETIME_SESSION,
	   "a walsender's message lasts as long as the session");
	am_walsender = false;

	for (int i = 0; i < LEVELS; i++)
	{
		nested[i].name = "nested";
		nested[i].parent = i == 0 ? &portals : &nested[i - 1];
		for (int again = 0; again < 100; again++)
			right &= plh_lifetime_of(&nested[i]) == PLH_LIFETIME_QUERY;
	}
	ok(right, "nested contexts, in a time that does not grow with the depth");

	nested[0].parent = &cache;
	statement_start++;
	right = true;
	for (int i = 0; i < LEVELS; i += 17)
		right &= plh_lifetime_of(&nested[i]) == PLH_LIFETIME_SESSION;
	ok(right, "they have moved, and the next statement knows");
}
