/*
 * malloc_callers.h
 *	  Who may have called malloc in a process, beside the server's own contexts.
 *
 * Never called inside palloc.
 */
#pragma once

#include "symbols/symbols.h"

/* What a process has loaded that the postmaster has not. */
typedef struct PlhLoadedCode
{
	const char *language;		/* one that keeps values by itself, such as
								 * "PL/Perl"; else NULL */
	bool		has_jit;
	bool		has_dblink;		/* whose libpq keeps results of other servers */
	bool		has_postgres_fdw;	/* and so does that one's */
	bool		has_others;		/* neither languages nor JIT compilers */
} PlhLoadedCode;

extern PlhLoadedCode plh_malloc_callers_loaded(int pid);

/* The libraries of a process that call malloc. */
typedef struct PlhMallocCallers
{
	bool		are_known;		/* else its maps can't be read */
	const char *loaded;			/* by the process itself; NULL: none */
	const char *linked;			/* to the server; NULL: none */
	bool		has_jit;		/* it has compiled queries */
} PlhMallocCallers;

extern PlhMallocCallers plh_malloc_callers_find(int pid, PlhSymbols *symbols);
