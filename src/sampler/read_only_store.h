/*
 * read_only_store.h
 *	  Stores words into memory that is read-only.
 *
 * Called by method_patch.c when pg_leakhunt is loaded, never inside palloc.  These functions never
 * palloc or throw.
 */
#pragma once

/* The protection of memory that can't be told: no combination of PROT_ flags. */
#define PLH_PROTECTION_UNKNOWN (-1)

extern int	plh_read_only_store_protection(const void *start, const void *end);
extern bool plh_read_only_store(void **word, void *value, int protection);
