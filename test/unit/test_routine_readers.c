/*
 * test_routine_readers.c
 *	  Error context callbacks: of which language they are, and what their arguments say.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/memnodes.h"

#include "base/compat.h"
#include "base/own_memory.h"
#include "routine/routine_reader.h"
#include "stack/modules.h"
#include "unit_tests.h"

/* Addresses of code; each module is 4 kB long. */
#define IN_SERVER 0x10000
#define IN_PERL 0x11000
#define IN_OTHER 0x12000
#define IN_NO_MODULE 0x13000

static PlhModule modules[] = {
	{.text_start = IN_SERVER,.path = "/usr/lib/postgresql/15/bin/postgres"},
	{.text_start = IN_PERL,.path = "/usr/lib/postgresql/15/lib/plperl.so"},
	{.text_start = IN_OTHER,.path = "/usr/lib/postgresql/15/lib/other_plperl.so"}
};

static PlhModule *
module_stub(uintptr_t address)
{
	for (int i = 0; i < lengthof(modules); i++)
		if (address - modules[i].text_start < 0x1000)
			return &modules[i];
	return NULL;
}

static const PlhModule *
executable_stub(void)
{
	return &modules[0];
}

#define plh_modules_find module_stub
#define plh_modules_executable executable_stub
#include "routine/known_callbacks.c"

/* What a function in SQL is called by. */
Datum
fmgr_sql(PG_FUNCTION_ARGS)
{
	return 0;
}

/* An argument that is no name. */
static const char *const no_name = "\1";

static const PlhRoutineReader *
reader_at(uintptr_t callback, const char *argument)
{
	return plh_known_callbacks_reader(callback, argument);
}

/* The file that has the code tells the language, and an argument proves it. */
static void
test_languages(void)
{
	plh_known_callbacks_forget();
	ok(reader_at(IN_PERL, "f") == &plh_perl_routine, "a callback is of the language whose library has it");
	ok(reader_at(IN_PERL, no_name) == &plh_perl_routine, "once that is proven, no argument is looked at");
	ok(reader_at(IN_OTHER, "f") == NULL, "a library with a longer name is another one");
	ok(reader_at(IN_NO_MODULE, "f") == NULL, "a callback may be in no library");
	ok(reader_at(IN_SERVER, "f") == NULL, "one of the server's is not proven to be that of SQL");
	plh_known_callbacks_forget();
	ok(reader_at(IN_PERL, no_name) == NULL, "what is forgotten is to be proven again");
}

/* A callback that never proves anything is asked no more. */
static void
test_tries(void)
{
	plh_known_callbacks_forget();
	for (int i = 1; i < TRIES; i++)
		(void) reader_at(IN_PERL, no_name);
	ok(!plh_known_callbacks_place(IN_PERL)->is_settled, "63 arguments in vain settle nothing");
	(void) reader_at(IN_PERL, no_name);
	ok(reader_at(IN_PERL, "f") == NULL, "after 64 a callback is of no language");
}

/* Callbacks that share a place lie behind each other, up to four. */
static void
test_places(void)
{
	uintptr_t	callbacks[PLACES + 1];
	int			found = 0;

	for (uintptr_t address = IN_PERL; found <= PLACES; address += 0x10)
		if (plh_known_callbacks_place(address) == plh_known_callbacks_place(IN_PERL))
			callbacks[found++] = address < IN_OTHER ? address : IN_PERL;
	plh_known_callbacks_forget();
	for (int i = 0; i < PLACES; i++)
		(void) reader_at(callbacks[i], "f");
	found = 0;
	for (int i = 0; i < PLACES; i++)
		found += reader_at(callbacks[i], no_name) == &plh_perl_routine;
	ok(found == PLACES, "four callbacks of one place are known");
}

static bool
makes(const char *name, PlhRoutine *routine)
{
	if (strcmp(routine->name, name) == 0)
		return true;
	printf("# %s\n", routine->name);
	return false;
}

static void
test_texts(void)
{
	PlhRoutine	routine = {NULL};
	char		long_name[2 * PLH_ROUTINE_NAME_MAX];

	ok(plh_routine_reader_is_name("f") && plh_routine_reader_is_name("gr\xc3\xb6\xc3\x9f" "e()"),
	   "a name may have letters of all kinds");
	ok(!plh_routine_reader_is_name("") && !plh_routine_reader_is_name("a\nb") &&
	   !plh_routine_reader_is_name("a\x7f"), "but not be empty, or have control characters");
	ok(!plh_routine_reader_is_name((const char *) (uintptr_t) 64), "or be where no memory is");
	plh_routine_reader_put_name(&routine, "a ", "bc", " d", NULL);
	ok(makes("a bc d", &routine), "a name is put together");
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	plh_routine_reader_put_name(&routine, "function ", long_name, " of ", long_name, NULL);
	ok(strlen(routine.name) == PLH_ROUTINE_NAME_MAX, "what has no room is cut off");
}

static void
test_perl(void)
{
	PlhRoutine	routine = {NULL};

	ok(plh_perl_routine.prove(NULL) == PLH_TRUST_CALLBACK &&
	   plh_perl_routine.read(NULL, &routine) && makes(PLH_DO_BLOCK, &routine),
	   "a callback of PL/Perl that gets nothing is that of a DO block");
	ok(plh_perl_routine.read("f", &routine) && makes("PL/Perl function f", &routine),
	   "others get the function's name");
}

#if !PLH_HAVE_CACHED_PYTHON
static void
test_python(void)
{
	MemoryContextData memory = {.ident = "g"};
	struct
	{
		const MemoryContextData *memory;
		const char *name;
	}			function = {&memory, memory.ident};
	const void *call = &function;
	PlhRoutine	routine = {NULL};

	ok(plh_python_routine.prove(&call) == PLH_TRUST_CALLBACK &&
	   plh_python_routine.read(&call, &routine) && makes("PL/Python function g", &routine),
	   "a function in PL/Python has its name from its memory context, too");
	memory.ident = "h";
	ok(plh_python_routine.prove(&call) == PLH_TRUST_NONE, "a context of another name proves nothing");
}
#endif

#if !PLH_HAVE_FUNCTION_CACHE
static void
test_sql(void)
{
	const char *name = "h";
	FmgrInfo	function = {.fn_addr = fmgr_sql,.fn_extra = &name};
	PlhRoutine	routine = {NULL};

	ok(plh_sql_routine.prove(&function) == PLH_TRUST_CALLBACK &&
	   plh_sql_routine.read(&function, &routine) && makes("SQL function h", &routine),
	   "a function in SQL is called by fmgr_sql, and has a name");
	function.fn_extra = NULL;
	ok(!plh_sql_routine.read(&function, &routine), "while it is being prepared, it has none");
	function = (FmgrInfo)
	{
		.fn_addr = NULL,.fn_extra = &name
	};
	ok(plh_sql_routine.prove(&function) == PLH_TRUST_NONE, "other functions are not in SQL");
}
#endif

#if PLH_HAVE_PLPGSQL
#include "plpgsql.h"
#include "stack/stack_walk.h"

/* Let the stack of the process be no more than that. */
static void
bound_stack(const void *from, Size bytes)
{
	plh_stack_walk_low = (uintptr_t) from;
	plh_stack_walk_end = (uintptr_t) from + bytes;
}

static void
test_plpgsql(void)
{
	/* static, as a compiler does not know that a system call reads them */
	static PLpgSQL_execstate call;
	static PLpgSQL_function function = {.fn_signature = "k(integer)",.cur_estate = &call,.fn_oid = 7};
	static PLpgSQL_stmt statement = {.lineno = 12};
	static PLpgSQL_variable variable = {.lineno = 3};
	PlhRoutine	routine = {NULL};
	uintptr_t	low = plh_stack_walk_low;
	uintptr_t	end = plh_stack_walk_end;

	call.func = &function;
	bound_stack(&call, sizeof(call));
	ok(plh_plpgsql_routine.prove(&call) == PLH_TRUST_ARGUMENT, "a call of PL/pgSQL without a statement proves itself");
	call.err_stmt = &statement;
	ok(plh_plpgsql_routine.prove(&call) == PLH_TRUST_CALLBACK, "one at a statement proves the callback");
	ok(plh_plpgsql_routine.read(&call, &routine) && makes("k(integer)", &routine) && routine.line == 12,
	   "it says which function it is, and its line");
	call.err_var = &variable;
	ok(plh_plpgsql_routine.read(&call, &routine) && routine.line == 3, "while a variable gets its value, the line is that of the variable");
	ok(plh_plpgsql_routine.mark(&call).place == PLH_ROUTINE_PLACE(7, 3), "the mark tells the line, too");
	bound_stack(&call, sizeof(call) - 1);
	ok(plh_plpgsql_routine.prove(&call) == PLH_TRUST_NONE, "a call is on the stack as a whole");
	bound_stack(&call, sizeof(call));
	function.cur_estate = NULL;
	ok(plh_plpgsql_routine.prove(&call) == PLH_TRUST_NONE, "the function knows the innermost call");
	plh_stack_walk_low = low;
	plh_stack_walk_end = end;
}
#endif

void
test_routine_readers(void)
{
	plh_own_memory_start();
	test_languages();
	test_tries();
	test_places();
	test_texts();
	test_perl();
#if !PLH_HAVE_CACHED_PYTHON
	test_python();
#endif
#if !PLH_HAVE_FUNCTION_CACHE
	test_sql();
#endif
#if PLH_HAVE_PLPGSQL
	test_plpgsql();
#endif
}
