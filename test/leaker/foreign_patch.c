/*
 * foreign_patch.c
 *	  A module that replaces a memory context method, as another profiler
 *	  would: with it loaded first, pg_leakhunt must refuse to do the same.
 *
 * The setting foreign_patch.spare = on makes it take a spare method id instead,
 * as another profiler would that marks chunks (PostgreSQL 17 and later).
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fmgr.h"
#include "nodes/memnodes.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "sampler/chunk_mark.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static void (*original_free) (PLH_FREE_PARAMETERS);

static void
foreign_free(PLH_FREE_PARAMETERS)
{
	original_free(PLH_FREE_ARGUMENTS);
}

void
_PG_init(void)
{
	MemoryContextMethods *table =
		(MemoryContextMethods *) TopMemoryContext->methods;
	uintptr_t	page_bytes = sysconf(_SC_PAGESIZE);
	uintptr_t	start;
	uintptr_t	end;

#if PLH_MARKS_CHUNKS
	if (GetConfigOption("foreign_patch.spare", true, false) != NULL)
		table += MCTX_8_UNUSED_ID - MCTX_ASET_ID;
#endif
	start = (uintptr_t) table & ~(page_bytes - 1);
	end = TYPEALIGN(page_bytes, (uintptr_t) (table + 1));
	if (mprotect((void *) start, end - start, PROT_READ | PROT_WRITE) != 0)
		elog(ERROR, "could not make the method table writable: %m");
	original_free = table->free_p;
	table->free_p = foreign_free;
	if (mprotect((void *) start, end - start, PROT_READ) != 0)
		elog(ERROR, "could not make the method table read-only: %m");
}
