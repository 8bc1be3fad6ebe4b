/*
 * memory_holder.h
 *	  Who holds what ends with a statement or transaction: a statement that runs, cursors that
 *	  are open, or a transaction whose session waits for its client.
 *
 * Texts belong to the current memory context.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

typedef enum PlhHolderKind
{
	PLH_HELD_BY_STATEMENT,		/* that runs, or ran when the process ended */
	PLH_HELD_BY_CURSORS,		/* that are open, and run nothing */
	PLH_HELD_BY_TRANSACTION,	/* in which no statement runs */
	PLH_HELD_BY_LAST			/* statement, which ran when it was counted
								 * and is over */
} PlhHolderKind;

typedef struct PlhHolder
{
	PlhHolderKind kind;
	bool		waits;			/* its session waits for its client in a
								 * transaction, since */
	TimestampTz waits_since;
	int64		cursors;		/* open portals */
	int64		bytes;			/* of these, as of the last census */
	const PlhPortal *cursor;	/* the largest of them; NULL: not known */
	const char *name;			/* of it; empty: it is the client's statement */
	const char *query;			/* its statement, without literals; NULL: not
								 * known */
} PlhHolder;

/*
 * Who holds most of that.  In a process that lives this asks the server what it does; who asks has
 * looked whether the reader may see that.
 */
extern PlhHolder plh_memory_holder_find(const PlhProfileImage *image, int64 bytes);

/* What settings allow to all nodes of the plan that holds most; NULL: it is not known. */
extern const PlhPortal *plh_memory_holder_plan(const PlhProfileImage *image);
