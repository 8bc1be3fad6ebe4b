/*
 * context_name.h
 *	  The names of memory contexts, as core shows them: that of a hash table is the table's.
 */
#pragma once

#include "nodes/memnodes.h"

/* The name that dynahash.c gives to the contexts of all hash tables. */
#define PLH_HASH_TABLE_NAME "dynahash"

static inline bool
plh_context_is_hash_table(MemoryContext context)
{
	return context->name[0] == 'd' && strcmp(context->name, PLH_HASH_TABLE_NAME) == 0;
}

/* The name of a context. */
static inline const char *
plh_context_name(MemoryContext context)
{
	return context->ident != NULL && plh_context_is_hash_table(context) ?
		context->ident : context->name;
}

/*
 * Does the context have the name that it will keep?  A hash table gets its own after the first
 * allocations.
 */
static inline bool
plh_context_has_final_name(MemoryContext context)
{
	return context->ident != NULL || !plh_context_is_hash_table(context);
}
