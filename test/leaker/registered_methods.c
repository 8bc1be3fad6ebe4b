/*
 * registered_methods.c
 *	  A module that counts what AllocSet contexts allocate and free, by methods that
 *	  it registers with a server that takes them (doc/upstream.md).
 */
#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include "base/compat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

PG_FUNCTION_INFO_V1(counted_methods);

#if PG_VERSION_NUM >= 170000
#include "utils/memutils_internal.h"

static MemoryContextMethods previous;
static int64 allocations;
static int64 frees;

static void *
counting_alloc(PLH_ALLOC_PARAMETERS)
{
	allocations++;
	return previous.alloc(PLH_ALLOC_ARGUMENTS);
}

static void
counting_free(PLH_FREE_PARAMETERS)
{
	frees++;
	previous.free_p(PLH_FREE_ARGUMENTS);
}

void
_PG_init(void)
{
	void		(*register_methods) (MemoryContextMethodID, const MemoryContextMethods *, MemoryContextMethods *) =
		(void (*) (MemoryContextMethodID, const MemoryContextMethods *, MemoryContextMethods *)) dlsym(RTLD_DEFAULT, "RegisterMemoryContextMethods");
	MemoryContextMethods methods = *TopMemoryContext->methods;

	if (!process_shared_preload_libraries_in_progress)
		return;
	if (register_methods == NULL)
		elog(ERROR, "the server takes no methods");
	methods.alloc = counting_alloc;
	methods.free_p = counting_free;
	register_methods(MCTX_ASET_ID, &methods, &previous);
}

/* counted_methods(bytes, times): how many allocations and frees of so many chunks were counted */
Datum
counted_methods(PG_FUNCTION_ARGS)
{
	int64		allocations_before = allocations;
	int64		frees_before = frees;

	for (int i = 0; i < PG_GETARG_INT32(1); i++)
		pfree(MemoryContextAlloc(TopMemoryContext, PG_GETARG_INT32(0)));
	PG_RETURN_INT64((allocations - allocations_before) * 1000000 + (frees - frees_before));
}
#else
void
_PG_init(void)
{
	elog(ERROR, "the server takes no methods");
}

Datum
counted_methods(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}
#endif
