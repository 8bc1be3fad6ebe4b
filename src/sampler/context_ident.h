/*
 * context_ident.h
 *	  What PostgreSQL notes of memory contexts beside their names: the statement of a
 *	  plan, the index or table of an entry of the relation cache, the function, portal or
 *	  dictionary.
 *
 * These functions may be called inside palloc.  A note lies in its context or beside it,
 * and is valid only while the context lives.
 */
#ifndef PLH_CONTEXT_IDENT_H
#define PLH_CONTEXT_IDENT_H

#include "nodes/memnodes.h"

/* Where contexts of a name have their note, and what it is. */
typedef enum PlhIdentKind
{
	PLH_IDENT_NONE,				/* nothing that is known, or what the name
								 * says anyway */
	PLH_IDENT_NAME,				/* of an object */
	PLH_IDENT_STATEMENT,
	PLH_IDENT_OF_PARENT			/* the parent has that of a statement */
} PlhIdentKind;

extern PlhIdentKind plh_context_ident_kind(MemoryContext context);

/* The context whose note tells what a context is of; NULL if there is none. */
extern MemoryContext plh_context_ident_source(MemoryContext context,
											  PlhIdentKind kind);

/* The same for notes that differ in literals and digits only. */
extern uint64 plh_context_ident_key(const char *ident, PlhIdentKind kind);

/*
 * Copies what may be kept of the note of such a context, up to "max_bytes", and a NUL;
 * "kept" has room for PLH_STATEMENT_MAX + 1.  Returns its length.
 */
extern Size plh_context_ident_keep(char *kept, MemoryContext source,
								   PlhIdentKind kind, Size max_bytes);

/* Is the note the text of a statement, which the setting track_queries is about? */
static inline bool
plh_context_ident_is_statement(PlhIdentKind kind)
{
	return kind >= PLH_IDENT_STATEMENT;
}

#endif							/* PLH_CONTEXT_IDENT_H */
