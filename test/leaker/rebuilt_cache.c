/*
 * rebuilt_cache.c
 *	  Caches that are built anew after an invalidation, with and without freeing what
 *	  was there before.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/inval.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(use_forgetting_cache);
PG_FUNCTION_INFO_V1(use_freeing_cache);
PG_FUNCTION_INFO_V1(use_half_built_cache);

static bool is_registered = false;
static bool forgetting_is_valid = false;
static bool freeing_is_valid = false;
static bool half_built_is_valid = false;
static char *forgotten = NULL;
static char *freed = NULL;
static char *half_built = NULL;

static void
invalidate(Datum arg, Oid relid)
{
	forgetting_is_valid = freeing_is_valid = half_built_is_valid = false;
}

static void
register_once(void)
{
	if (!is_registered)
		CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
	is_registered = true;
}

static pg_noinline char *
rebuild(void)
{
	return MemoryContextAlloc(CacheMemoryContext, 200);
}

/* Forgets its old content when it is built anew. */
Datum
use_forgetting_cache(PG_FUNCTION_ARGS)
{
	register_once();
	if (!forgetting_is_valid)
		forgotten = rebuild();
	forgetting_is_valid = true;
	PG_RETURN_BOOL(forgotten != NULL);
}

/* Frees its old content before. */
Datum
use_freeing_cache(PG_FUNCTION_ARGS)
{
	register_once();
	if (!freeing_is_valid)
	{
		if (freed != NULL)
			pfree(freed);
		freed = rebuild();
	}
	freeing_is_valid = true;
	PG_RETURN_BOOL(freed != NULL);
}

/* Loses what it builds if the next allocation fails. */
Datum
use_half_built_cache(PG_FUNCTION_ARGS)
{
	register_once();
	if (!half_built_is_valid)
	{
		char	   *built = rebuild();

		pfree(palloc(50));
		if (half_built != NULL)
			pfree(half_built);
		half_built = built;
	}
	half_built_is_valid = true;
	PG_RETURN_BOOL(half_built != NULL);
}
