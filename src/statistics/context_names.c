/*
 * context_names.c
 *	  What names of memory contexts tell: how long such contexts live, what they were called in
 *	  older releases.
 *
 * sampler/lifetime.c has the same rules for the contexts of its own process, by pointers.
 */
#include "postgres.h"

#include "judge/family.h"
#include "statistics/context_names.h"

typedef struct OldName
{
	const char *old;
	const char *current;
} OldName;

static const OldName old_names[] = {
	{"PortalMemory", "TopPortalContext"},
	{"PortalHeapMemory", "PortalContext"},
	{"PL/pgSQL function context", "PL/pgSQL function"},
	{"PL/pgSQL DO context", "PL/pgSQL function"},
	{"SQL function data", "SQL function"},
	{"SPI Proc context", "SPI Proc"},
	{"TupleSort", "TupleSort main"},
	{"AggContext", "ExprContext"}
};

const char *
plh_context_names_current(const char *name)
{
	for (int i = 0; i < lengthof(old_names); i++)
		if (strcmp(old_names[i].old, name) == 0)
			return old_names[i].current;
	return name;
}

bool
plh_context_names_is_old(const char *name)
{
	return strcmp(name, "PortalMemory") == 0 || strcmp(name, "PortalHeapMemory") == 0;
}

bool
plh_context_names_is_index(const char *name)
{
	static const char *const endings[] = {"_index", "_idx", "_pkey", "_key", "_pk"};
	Size		bytes = strlen(name);

	for (int i = 0; i < lengthof(endings); i++)
	{
		Size		ending = strlen(endings[i]);

		if (bytes > ending && strcmp(name + bytes - ending, endings[i]) == 0)
			return true;
	}
	return false;
}

/* Contexts that are filled below others, and hung below a lasting one when they are complete. */
static bool
is_moving(const char *name)
{
	static const char *const moving[] = {
		"CachedExpression", "CachedPlan", "CachedPlanQuery", "CachedPlanSource",
		"Domain constraints", "PortalHoldContext", "RegexpMemoryContext", "SPI Plan",
		"PL/pgSQL function", "SQL function", "partition descriptor", "partition key",
		"row security descriptor"
	};

	for (int i = 0; i < lengthof(moving); i++)
		if (strcmp(name, moving[i]) == 0)
			return true;
	return false;
}

PlhLifetime
plh_context_names_below(const char *name, PlhLifetime parent)
{
	return is_moving(name) ? PLH_LIFETIME_SESSION : parent;
}

PlhLifetime
plh_context_names_top_child(const char *name)
{
	static const struct
	{
		const char *name;
		PlhLifetime lifetime;
	}			children[] = {
		{"TopTransactionContext", PLH_LIFETIME_TRANSACTION},
		{"CurTransactionContext", PLH_LIFETIME_TRANSACTION},
		{"MessageContext", PLH_LIFETIME_STATEMENT},
		{"RowDescriptionContext", PLH_LIFETIME_STATEMENT},
		{"TopPortalContext", PLH_LIFETIME_QUERY},
		{"ErrorContext", PLH_LIFETIME_ERROR}
	};

	for (int i = 0; i < lengthof(children); i++)
		if (strcmp(name, children[i].name) == 0)
			return children[i].lifetime;
	return PLH_LIFETIME_SESSION;
}

/* Kinds of contexts that only a statement has. */
static bool
is_of_statement(const char *name)
{
	const PlhFamily *family = plh_family_of(name);

	return family != NULL &&
		(family->kind == PLH_FAMILY_NODES || family->kind == PLH_FAMILY_EXECUTOR);
}

PlhLifetime
plh_context_names_guess(const char *name, const char *parent)
{
	PlhLifetime lifetime = plh_context_names_top_child(name);

	if (is_moving(name) || is_moving(parent))
		return PLH_LIFETIME_SESSION;
	if (lifetime == PLH_LIFETIME_SESSION)
		lifetime = plh_context_names_top_child(parent);
	if (lifetime == PLH_LIFETIME_SESSION && (is_of_statement(name) || is_of_statement(parent)))
		lifetime = PLH_LIFETIME_QUERY;
	return lifetime;
}
