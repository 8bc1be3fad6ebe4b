/*
 * lifetime.h
 *	  How long what is allocated in a memory context is meant to live.
 *
 * Callable inside palloc; only follows parent pointers.
 */
#ifndef PLH_LIFETIME_H
#define PLH_LIFETIME_H

/* Stored in profiles: append only. */
typedef enum PlhLifetime
{
	PLH_LIFETIME_SESSION,		/* until the process ends or somebody frees;
								 * plans and the like, also in the making */
	PLH_LIFETIME_TRANSACTION,	/* below TopTransactionContext */
	PLH_LIFETIME_STATEMENT,		/* below MessageContext, RowDescriptionContext */
	PLH_LIFETIME_QUERY,			/* below a portal's context */
	PLH_LIFETIME_ERROR			/* below ErrorContext */
} PlhLifetime;

extern PlhLifetime plh_lifetime_of(MemoryContext context);
extern const char *plh_lifetime_name(uint32 lifetime);

#endif							/* PLH_LIFETIME_H */
