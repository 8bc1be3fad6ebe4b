/*
 * malloc_callers.h
 *	  Who may have called malloc in a process, beside the server's own contexts.
 *
 * Never called inside palloc.
 */
#ifndef PLH_MALLOC_CALLERS_H
#define PLH_MALLOC_CALLERS_H

#include "symbols/symbols.h"

/* What a process has loaded that the postmaster has not. */
typedef struct PlhLoadedCode
{
	const char *language;		/* one that keeps values by itself, such as
								 * "PL/Perl"; else NULL */
	bool		has_jit;
	bool		has_libpq;		/* the client library, which keeps results */
	bool		has_others;		/* neither languages nor JIT compilers */
} PlhLoadedCode;

extern PlhLoadedCode plh_malloc_callers_loaded(int pid);
extern const char *plh_malloc_callers_text(int pid, PlhSymbols *symbols);

#endif							/* PLH_MALLOC_CALLERS_H */
