/*
 * python_routine.c
 *	  Functions in PL/Python.
 *
 * This code runs inside palloc.
 *
 * The argument of the callback leads to a function whose memory context has its name as identifier:
 * that proves both.  The callback of a DO block gets nothing that could be told from anything else,
 * and the block is not shown.
 */
#include "postgres.h"

#include "nodes/memnodes.h"

#include "base/compat.h"
#include "base/own_memory.h"
#include "routine/routine_reader.h"

#if PLH_HAVE_CACHED_PYTHON
#include "utils/funccache.h"
#endif

/* How PLyProcedure and PLyExecutionContext begin. */
typedef struct Function
{
#if PLH_HAVE_CACHED_PYTHON
	CachedFunction cached;
#endif
	const MemoryContextData *memory;
	const char *name;
} Function;

typedef struct Call
{
	const Function *function;
} Call;

static PlhTrust
prove(const void *argument)
{
	Call		call;
	Function	function;
	MemoryContextData memory;

	return plh_own_memory_copy_struct(&call, argument, sizeof(call)) &&
		plh_own_memory_copy_struct(&function, call.function, sizeof(function)) &&
		plh_own_memory_copy_struct(&memory, function.memory, sizeof(memory)) &&
		memory.ident == function.name &&
		plh_routine_reader_is_name(function.name) ? PLH_TRUST_CALLBACK : PLH_TRUST_NONE;
}

static bool
read_call(const void *argument, PlhRoutine *routine)
{
	const Function *function = ((const Call *) argument)->function;

	if (function == NULL || function->name == NULL)
		return false;
	plh_routine_reader_put_name(routine, "PL/Python function ", function->name, NULL);
	return true;
}

const PlhRoutineReader plh_python_routine = {
	.language = PLH_LANGUAGE_PYTHON,
	.library = "plpython3.so",
	.prove = prove,
	.read = read_call
};
