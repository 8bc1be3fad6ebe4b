/*
 * malloc_callers.h
 *	  Who may have called malloc in a process, beside the server's own contexts.
 *
 * Never called inside palloc.
 */
#ifndef PLH_MALLOC_CALLERS_H
#define PLH_MALLOC_CALLERS_H

#include "symbols/symbols.h"

extern const char *plh_malloc_callers_text(int pid, PlhSymbols *symbols);

#endif							/* PLH_MALLOC_CALLERS_H */
