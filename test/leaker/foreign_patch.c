/*
 * foreign_patch.c
 *	  A module that replaces a memory context method, as another profiler
 *	  would: with it loaded first, pg_leakhunt must refuse to do the same.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fmgr.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static void (*original_free) (MemoryContext context, void *pointer);

static void
foreign_free(MemoryContext context, void *pointer)
{
	original_free(context, pointer);
}

void
_PG_init(void)
{
	MemoryContextMethods *table =
	(MemoryContextMethods *) TopMemoryContext->methods;
	uintptr_t	page_bytes = sysconf(_SC_PAGESIZE);
	uintptr_t	start = (uintptr_t) table & ~(page_bytes - 1);
	uintptr_t	end = TYPEALIGN(page_bytes, (uintptr_t) (table + 1));

	if (mprotect((void *) start, end - start, PROT_READ | PROT_WRITE) != 0)
		elog(ERROR, "could not make the method table writable: %m");
	original_free = table->free_p;
	table->free_p = foreign_free;
	if (mprotect((void *) start, end - start, PROT_READ) != 0)
		elog(ERROR, "could not make the method table read-only: %m");
}
