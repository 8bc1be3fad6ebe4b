/*
 * sql_routine.c
 *	  Functions in SQL, unless they are inlined.
 *
 * This code runs inside palloc.
 *
 * What the callback gets was never part of a header, but how it begins can be proven: until 17 it
 * is the FmgrInfo of a call by fmgr_sql, from 18 on a cache of our process for a function that the
 * server's code knows how to delete.
 */
#include "postgres.h"

#include "executor/functions.h"
#include "fmgr.h"

#include "base/compat.h"
#include "base/own_memory.h"
#include "routine/routine_reader.h"
#include "stack/modules.h"

#if PLH_HAVE_FUNCTION_CACHE
#include "utils/funccache.h"

/* How SQLFunctionHashEntry and SQLFunctionCache begin. */
typedef struct CachedBody
{
	CachedFunction cached;
	const char *name;
} CachedBody;

typedef struct Call
{
	const CachedBody *body;
} Call;

/* Is that code of the server's? */
static bool
is_of_server(uintptr_t address)
{
	const PlhModule *server = plh_modules_executable();

	return server != NULL && address >= server->text_start && address < server->text_end;
}

static PlhTrust
prove(const void *argument)
{
	Call		call;
	CachedBody	body;

	return plh_own_memory_copy_struct(&call, argument, sizeof(call)) &&
		plh_own_memory_copy_struct(&body, call.body, sizeof(body)) &&
		is_of_server((uintptr_t) body.cached.dcallback) &&
		plh_routine_reader_is_name(body.name) ? PLH_TRUST_CALLBACK : PLH_TRUST_NONE;
}

static const char *
name_of(const void *argument)
{
	const CachedBody *body = ((const Call *) argument)->body;

	return body != NULL ? body->name : NULL;
}

#else

/* How SQLFunctionCache begins. */
typedef struct Call
{
	const char *name;
} Call;

static PlhTrust
prove(const void *argument)
{
	FmgrInfo	function;
	Call		call;

	return plh_own_memory_copy_struct(&function, argument, sizeof(function)) &&
		function.fn_addr == fmgr_sql &&
		plh_own_memory_copy_struct(&call, function.fn_extra, sizeof(call)) &&
		plh_routine_reader_is_name(call.name) ? PLH_TRUST_CALLBACK : PLH_TRUST_NONE;
}

/* There is none while the function is being prepared. */
static const char *
name_of(const void *argument)
{
	const Call *call = ((const FmgrInfo *) argument)->fn_extra;

	return call != NULL ? call->name : NULL;
}

#endif							/* PLH_HAVE_FUNCTION_CACHE */

static bool
read_call(const void *argument, PlhRoutine *routine)
{
	const char *name = name_of(argument);

	if (name == NULL)
		return false;
	plh_routine_reader_put_name(routine, "SQL function ", name, NULL);
	return true;
}

const PlhRoutineReader plh_sql_routine = {
	.language = PLH_LANGUAGE_SQL,
	.prove = prove,
	.read = read_call
};
