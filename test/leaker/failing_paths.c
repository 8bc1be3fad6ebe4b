/*
 * failing_paths.c
 *	  Leaks on the paths that no test repeats, each with a twin that is mended.
 */
#include "postgres.h"

#include <stdlib.h>

#include "access/xact.h"
#include "fmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(leak_on_error);
PG_FUNCTION_INFO_V1(leak_when_failing);
PG_FUNCTION_INFO_V1(leak_malloc_when_failing);
PG_FUNCTION_INFO_V1(build_context);
PG_FUNCTION_INFO_V1(crash_when_failing);
PG_FUNCTION_INFO_V1(end_subtransaction_when_failing);

#define RECORD_BYTES 100
#define NAME_BYTES 64

static pg_noinline void *
lasting_record(void)
{
	return MemoryContextAlloc(TopMemoryContext, RECORD_BYTES);
}

static pg_noinline void *
short_name(void)
{
	return palloc(NAME_BYTES);
}

/* leak_on_error(mended bool): keeps a record when it raises an error */
Datum
leak_on_error(PG_FUNCTION_ARGS)
{
	void	   *record = lasting_record();

	if (PG_GETARG_BOOL(0))
		pfree(record);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("this function always fails")));
}

/* leak_when_failing(mended bool): keeps a record when the palloc after it fails */
Datum
leak_when_failing(PG_FUNCTION_ARGS)
{
	void	   *name = PG_GETARG_BOOL(0) ? short_name() : NULL;
	void	   *record = lasting_record();

	if (name == NULL)
		name = short_name();
	pfree(name);
	pfree(record);
	PG_RETURN_VOID();
}

static pg_noinline void *
record_of_library(void)
{
	char	   *record = malloc(RECORD_BYTES);

	if (record == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	record[0] = 1;
	return record;
}

/* leak_malloc_when_failing(mended bool): the same, with malloc */
Datum
leak_malloc_when_failing(PG_FUNCTION_ARGS)
{
	void	   *name = PG_GETARG_BOOL(0) ? short_name() : NULL;
	void	   *record = record_of_library();

	if (name == NULL)
		name = short_name();
	pfree(name);
	free(record);
	PG_RETURN_VOID();
}

/*
 * build_context(mended bool): makes a context that lasts, fills it and deletes it; what
 * is mended makes it within the statement's memory
 */
Datum
build_context(PG_FUNCTION_ARGS)
{
	MemoryContext parent = PG_GETARG_BOOL(0) ? CurrentMemoryContext : TopMemoryContext;
	MemoryContext built = AllocSetContextCreate(parent, "built context",
												ALLOCSET_SMALL_SIZES);

	(void) MemoryContextAlloc(built, RECORD_BYTES);
	(void) short_name();
	MemoryContextDelete(built);
	PG_RETURN_VOID();
}

static pg_noinline void
use_without_a_look(char *name)
{
	name[0] = 1;
}

/* crash_when_failing(mended bool): uses what it has not got */
Datum
crash_when_failing(PG_FUNCTION_ARGS)
{
	char	   *name = palloc_extended(NAME_BYTES, MCXT_ALLOC_NO_OOM);

	if (name != NULL || !PG_GETARG_BOOL(0))
		use_without_a_look(name);
	PG_RETURN_VOID();
}

/*
 * end_subtransaction_when_failing(mended bool): ends its subtransaction at an error; what is
 * not mended may not have begun it by then, and ends that of its caller
 */
Datum
end_subtransaction_when_failing(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	bool		mended = PG_GETARG_BOOL(0);

	if (mended)
		BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		(void) short_name();
		if (!mended)
			BeginInternalSubTransaction(NULL);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		RollbackAndReleaseCurrentSubTransaction();
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	PG_RETURN_VOID();
}
