/*
 * read_only_store.h
 *	  Stores words into memory that is read-only.
 *
 * These functions are called when pg_leakhunt is loaded, never inside palloc.  They allocate
 * nothing from a memory context.
 */
#pragma once

/* The protection of memory that can't be told: no combination of PROT_ flags. */
#define PLH_PROTECTION_UNKNOWN (-1)

typedef enum PlhStoreResult
{
	PLH_STORED,
	PLH_STORE_REFUSED,			/* errno says why; the word is what it was */
	PLH_STORE_SEALED			/* the same, of memory that is sealed, or
								 * whose protection a filter keeps */
} PlhStoreResult;

extern int	plh_read_only_store_protection(const void *start, const void *end);
extern PlhStoreResult plh_read_only_store(void **word, void *value, int protection);
