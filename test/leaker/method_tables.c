/*
 * method_tables.c
 *	  Shows the method tables of memory contexts, how many changes of them were
 *	  tried, and sets when one is to be refused.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "utils/memutils_internal.h"
#include "varatt.h"
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(method_tables);
PG_FUNCTION_INFO_V1(refuse_store);
PG_FUNCTION_INFO_V1(tried_stores);

/* Append the tables that begin with that of a context, which is deleted. */
static void
append_tables(bytea *tables, MemoryContext context, int first, int count)
{
	Size		bytes = sizeof(MemoryContextMethods) * count;

	memcpy((char *) tables + VARSIZE(tables),
		   (const MemoryContextMethods *) context->methods + first, bytes);
	SET_VARSIZE(tables, VARSIZE(tables) + bytes);
	MemoryContextDelete(context);
}

/* All elements of the array, spare ones included; in 15, the three tables. */
Datum
method_tables(PG_FUNCTION_ARGS)
{
	bytea	   *tables = palloc(VARHDRSZ + 16 * sizeof(MemoryContextMethods));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "method tables",
												  ALLOCSET_SMALL_SIZES);

	SET_VARSIZE(tables, VARHDRSZ);
#if PG_VERSION_NUM >= 160000
	append_tables(tables, context, -(int) MCTX_ASET_ID,
				  MEMORY_CONTEXT_METHODID_MASK + 1);
#else
	append_tables(tables, context, 0, 1);
	append_tables(tables, GenerationContextCreate(CurrentMemoryContext,
												  "method tables",
												  ALLOCSET_SMALL_SIZES), 0, 1);
	append_tables(tables, SlabContextCreate(CurrentMemoryContext,
											"method tables",
											SLAB_DEFAULT_BLOCK_SIZE, 64), 0, 1);
#endif
	PG_RETURN_BYTEA_P(tables);
}

/* A variable of failing_store, which must be preloaded. */
static int *
preloaded_variable(const char *name)
{
	int		   *variable = dlsym(RTLD_DEFAULT, name);

	if (variable == NULL)
		elog(ERROR, "failing_store is not preloaded");
	return variable;
}

/* Let the n-th change of read-only memory from now on be refused. */
Datum
refuse_store(PG_FUNCTION_ARGS)
{
	*preloaded_variable("failing_store") = PG_GETARG_INT32(0);
	PG_RETURN_VOID();
}

/* How many changes this process and its parent have tried. */
Datum
tried_stores(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(*preloaded_variable("tried_stores"));
}
