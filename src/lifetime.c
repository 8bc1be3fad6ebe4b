/*
 * lifetime.c
 *	  How long what is allocated in a memory context is meant to live.
 *
 * Runs inside palloc.
 */
#include "postgres.h"

#include "replication/walsender.h"
#include "utils/memutils.h"

#include "lifetime.h"

/*
 * These two contexts are private to core and are known by name only.  The
 * names are string constants, one address each: once seen, a pointer
 * comparison recognizes them.
 */
static const char *portals_name;
static const char *row_description_name;

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

/* Lifetime of a child of TopMemoryContext. */
static PlhLifetime
lifetime_of_top_child(MemoryContext context)
{
	if (context == TopTransactionContext)
		return PLH_LIFETIME_TRANSACTION;
	if (context == ErrorContext)
		return PLH_LIFETIME_ERROR;

	/*
	 * A replication command runs inside one message, and can run for weeks:
	 * what it keeps there is kept for the session.
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
 * The lifetime class of a context, from where in the tree it hangs now.
 */
PlhLifetime
plh_lifetime_of(MemoryContext context)
{
	if (context == TopMemoryContext || context->parent == NULL)
		return context == ErrorContext ? PLH_LIFETIME_ERROR :
			PLH_LIFETIME_SESSION;

	while (context->parent != TopMemoryContext)
	{
		if (context->parent == NULL)
			return PLH_LIFETIME_SESSION;
		context = context->parent;
	}
	return lifetime_of_top_child(context);
}

/*
 * The name that users see.  Takes what a profile says, which may be anything.
 */
const char *
plh_lifetime_name(uint32 lifetime)
{
	switch ((PlhLifetime) lifetime)
	{
		case PLH_LIFETIME_SESSION:
			return "session";
		case PLH_LIFETIME_TRANSACTION:
			return "transaction";
		case PLH_LIFETIME_STATEMENT:
			return "statement";
		case PLH_LIFETIME_QUERY:
			return "query";
		case PLH_LIFETIME_ERROR:
			return "error";
	}
	return "unknown";
}
