/*
 * lifetime.c
 *	  The lifetime of memory contexts: how long their chunks are meant to live.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "replication/walsender.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "sampler/lifetime.h"

/*
 * These two contexts are private to core and are known by name only.  The names are string
 * constants, one address each: once seen, a pointer comparison recognizes them.
 */
static PLH_SAME_IN_CHILD const char *portals_name;
static PLH_SAME_IN_CHILD const char *row_description_name;

static bool
is_named(MemoryContext context, const char *name, const char **seen)
{
	if (context->name == *seen)
		return *seen != NULL;
	if (strcmp(context->name, name) != 0)
		return false;
	*seen = context->name;
	return true;
}

/*
 * Core fills these contexts below a message's or a portal's context, and hangs them below a
 * long-lived one once they are complete.  A context that is never completed is deleted, and its
 * samples with it.  The rows of a cursor that is held stay below those of portals, and outlive
 * their transaction.
 */
static const char *const moving_contexts[] = {
	"CachedExpression", "CachedPlan", "CachedPlanQuery", "CachedPlanSource",
	"Domain constraints", "PortalHoldContext", "RegexpMemoryContext", "SPI Plan",
#if PLH_FUNCTIONS_MOVE
	"PL/pgSQL function", "SQL function",
#endif
	"partition descriptor", "partition key", "row security descriptor"
};

static bool
is_moving_context(MemoryContext context)
{
	const char *name = context->name;

	/* the first character rules out nearly every other name */
	switch (name[0])
	{
		case 'C':
		case 'D':
		case 'P':
		case 'R':
		case 'S':
		case 'p':
		case 'r':
			break;
		default:
			return false;
	}
	for (int i = 0; i < lengthof(moving_contexts); i++)
	{
		/* all have two, and they tell them from the names of most contexts */
		if (name[0] == moving_contexts[i][0] &&
			name[1] == moving_contexts[i][1] &&
			strcmp(name, moving_contexts[i]) == 0)
			return true;
	}
	return false;
}

static PlhLifetime
lifetime_of_top_child(MemoryContext context)
{
	if (context == TopTransactionContext)
		return PLH_LIFETIME_TRANSACTION;
	if (context == ErrorContext)
		return PLH_LIFETIME_ERROR;

	/*
	 * A replication command runs inside one message, and can run for weeks:
	 * chunks that it keeps there are kept for the session.
	 */
	if (context == MessageContext)
		return am_walsender ? PLH_LIFETIME_SESSION : PLH_LIFETIME_STATEMENT;
	if (is_named(context, "TopPortalContext", &portals_name))
		return PLH_LIFETIME_QUERY;
	if (is_named(context, "RowDescriptionContext", &row_description_name))
		return PLH_LIFETIME_STATEMENT;
	return PLH_LIFETIME_SESSION;
}

/*
 * A recursive query nests contexts by the thousand, and at interval 1 each of its pallocs may ask
 * for a lifetime.  So the lifetimes of contexts that are far down are remembered.  Contexts that
 * core is about to hang elsewhere are never that deep.
 */
#define DEEP_LEVELS 32
#define KNOWN_CONTEXTS 256

typedef struct KnownContext
{
	MemoryContext context;
	PlhKnownLifetime lifetime;
} KnownContext;

static PLH_SAME_IN_CHILD PLH_LARGE KnownContext known_contexts[KNOWN_CONTEXTS];

static KnownContext *
known_slot(MemoryContext context)
{
	return &known_contexts[((uintptr_t) context >> 6) % KNOWN_CONTEXTS];
}

/* Remember the lifetime of a context that is far from the top. */
static PlhLifetime
remember(MemoryContext ancestor, PlhLifetime lifetime)
{
	KnownContext *known = known_slot(ancestor);

	known->context = ancestor;
	plh_lifetime_note(&known->lifetime, ancestor, lifetime);
	return lifetime;
}

static PlhLifetime
lifetime_of_deep(MemoryContext deep)
{
	for (MemoryContext context = deep;; context = context->parent)
	{
		const KnownContext *known = known_slot(context);

		if (known->context == context && plh_lifetime_is_known(&known->lifetime, context))
			return remember(deep, known->lifetime.lifetime);
		if (context->parent == NULL || is_moving_context(context))
			return remember(deep, PLH_LIFETIME_SESSION);
		if (context->parent == TopMemoryContext)
			return remember(deep, lifetime_of_top_child(context));
	}
}

/* The lifetime follows from the current place in the tree. */
PlhLifetime
plh_lifetime_of(MemoryContext context)
{
	if (context == TopMemoryContext)
		return PLH_LIFETIME_SESSION;

	for (int level = 0; level < DEEP_LEVELS; level++)
	{
		if (context->parent == TopMemoryContext)
			return lifetime_of_top_child(context);

		/* an orphan is about to be deleted */
		if (context->parent == NULL || is_moving_context(context))
			return PLH_LIFETIME_SESSION;
		context = context->parent;
	}
	return lifetime_of_deep(context);
}
