/*
 * family.h
 *	  Which memory contexts belong together, and what is known of them.
 *
 * Pure functions: they allocate nothing and call nothing of the server.
 */
#pragma once

typedef enum PlhFamilyKind
{
	PLH_FAMILY_CACHE,			/* PostgreSQL's own, for the session: full
								 * when all objects that it uses are in it */
	PLH_FAMILY_PLANS,			/* of prepared statements */
	PLH_FAMILY_FUNCTIONS,		/* one for each that the session has called */
	PLH_FAMILY_ROWS,			/* of cursors that are not closed */
	PLH_FAMILY_LOCKS,			/* of transactions, and kept for later ones */
	PLH_FAMILY_DECODING,		/* freed when the transaction has been sent */
	PLH_FAMILY_NODES,			/* nodes of a plan, which a setting limits */
	PLH_FAMILY_EXECUTOR,		/* what else nodes and functions need */
	PLH_FAMILY_STATEMENT		/* what else a statement or transaction needs */
} PlhFamilyKind;

/* A family, in the words of PostgreSQL's users. */
typedef struct PlhFamily
{
	PlhFamilyKind kind;
	const char *title;			/* plural, as within a sentence */
	const char *what;			/* a sentence: what they are */
	const char *bound;			/* a sentence: what bounds them */
	const char *help;			/* a sentence or two: what to do */
	const char *const *names;	/* of contexts; NULL ends them */
	bool		is_endless;		/* a cache that is never full */
} PlhFamily;

/* NULL: contexts of that name are a family of their own. */
extern const PlhFamily *plh_family_of(const char *context_name);
