/*
 * malloc_callers.c
 *	  Who may have called malloc in a process, beside the server's own contexts.
 *
 * The maps of the process name its libraries, and what the dynamic linker resolves for each says if
 * it calls malloc.  Those that the process has loaded itself are likelier culprits than those that
 * the server is linked to, which all of its processes have.  Of these, only the ones that the
 * server names itself count: they bring dozens of others.
 *
 * What a process has loaded itself are modules, to which no other one of its own is linked, and
 * what these bring: a library is told with the module that brings it, and blames no other.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/value.h"

#include "reader/server_processes.h"
#include "report/blamed_code.h"
#include "report/malloc_callers.h"

/* So many modules are named, and of each so many libraries that it brings. */
#define TOLD_MODULES 4
#define TOLD_LIBRARIES 2

/* A binary that a process has loaded, and the postmaster has not. */
typedef struct OwnBinary
{
	const char *path;
	bool		is_linked;		/* another one of these is linked to it */
	List	   *libraries;		/* those of these that it is linked to */
	int			visit;			/* the number of the last that brings it */
} OwnBinary;

/* The C library itself, and this one, are no answer. */
static bool
is_of_no_interest(const char *path)
{
	const char *name = last_dir_separator(path) + 1;

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
		strncmp(name, "ld-", 3) == 0 || strcmp(name, "pg_leakhunt.so") == 0 ||
		strcmp(path, my_exec_path) == 0;
}

/*
 * Is that the file by which a name of a binary is resolved?  Its version may be another, or longer:
 * libopenjp2.so.7 may be libopenjp2.so.2.5.0.
 */
static bool
is_named(const char *path, const char *wanted)
{
	const char *name = last_dir_separator(path) + 1;
	const char *version = strstr(wanted, ".so");
	Size		length = version == NULL ? strlen(wanted) : version - wanted + strlen(".so");

	return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

/* The order in which modules are told: what functions of languages keep is the likeliest cause. */
static int
rank_of(const char *path)
{
	const char *name = last_dir_separator(path) + 1;

	if (plh_blamed_code_language(name) != NULL)
		return 0;
	return strncmp(path, pkglib_path, strlen(pkglib_path)) == 0 ? 1 : 2;
}

static int
compare_ranks(const ListCell *a, const ListCell *b)
{
	const OwnBinary *left = lfirst(a);
	const OwnBinary *right = lfirst(b);

	return rank_of(left->path) - rank_of(right->path);
}

/* What a process has loaded itself, in the order of its maps. */
static List *
own_binaries(int pid)
{
	List	   *common = plh_server_processes_binaries(PostmasterPid);
	List	   *own = NIL;
	ListCell   *cell;

	foreach(cell, plh_server_processes_binaries(pid))
	{
		OwnBinary  *binary;

		if (is_of_no_interest(strVal(lfirst(cell))) || list_member(common, lfirst(cell)))
			continue;
		binary = palloc0(sizeof(OwnBinary));
		binary->path = strVal(lfirst(cell));
		own = lappend(own, binary);
	}
	return own;
}

/* Find which of them a binary is linked to. */
static void
link_one(OwnBinary *binary, const List *own, PlhSymbols *symbols)
{
	ListCell   *name;
	ListCell   *cell;

	foreach(name, plh_symbols_linked_to(symbols, binary->path))
		foreach(cell, own)
	{
		OwnBinary  *library = lfirst(cell);

		if (library == binary || !is_named(library->path, lfirst(name)))
			continue;
		library->is_linked = true;
		binary->libraries = lappend(binary->libraries, library);
	}
}

/* The modules among them, with what each is linked to, in the order in which they are told. */
static List *
modules_of(const List *own, PlhSymbols *symbols)
{
	List	   *modules = NIL;
	ListCell   *cell;

	foreach(cell, own)
	{
		CHECK_FOR_INTERRUPTS();
		link_one(lfirst(cell), own, symbols);
	}
	foreach(cell, own)
		if (!((OwnBinary *) lfirst(cell))->is_linked)
		modules = lappend(modules, lfirst(cell));
	list_sort(modules, compare_ranks);
	return modules;
}

/* Add to "brought" all that a binary brings, at that visit. */
static List *
add_brought(List *brought, const OwnBinary *binary, int visit)
{
	ListCell   *cell;

	foreach(cell, binary->libraries)
	{
		OwnBinary  *library = lfirst(cell);

		if (library->visit == visit)
			continue;
		library->visit = visit;
		brought = add_brought(lappend(brought, library), library, visit);
	}
	return brought;
}

/* Those of some binaries that call malloc, the first of them up to a number. */
static List *
callers_among(const List *binaries, int most, PlhSymbols *symbols)
{
	List	   *callers = NIL;
	ListCell   *cell;

	foreach(cell, binaries)
	{
		const OwnBinary *binary = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (list_length(callers) < most && plh_symbols_calls_malloc(symbols, binary->path))
			callers = lappend(callers, lfirst(cell));
	}
	return callers;
}

/* Append a module with what it brings; nothing if none of all that calls malloc. */
static bool
append_module(StringInfo names, const OwnBinary *module, int visit, PlhSymbols *symbols)
{
	List	   *brought = add_brought(NIL, module, visit);
	List	   *told = callers_among(brought, TOLD_LIBRARIES, symbols);
	int			rest = list_length(brought) - list_length(told);
	ListCell   *cell;

	if (told == NIL && !plh_symbols_calls_malloc(symbols, module->path))
		return false;
	appendStringInfo(names, "%s%s", names->len == 0 ? "" : ", ",
					 last_dir_separator(module->path) + 1);
	foreach(cell, told)
		appendStringInfo(names, "%s%s", cell == list_head(told) ? " with " : ", ",
						 last_dir_separator(((OwnBinary *) lfirst(cell))->path) + 1);
	if (told != NIL && rest > 0)
		appendStringInfo(names, " and %d more", rest);
	return true;
}

/* The modules of a process that call malloc, or bring what does; NULL: there are none. */
static const char *
loaded_callers(int pid, PlhSymbols *symbols)
{
	List	   *modules = modules_of(own_binaries(pid), symbols);
	StringInfoData names;
	int			visit = 0;
	int			told = 0;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, modules)
	{
		if (told == TOLD_MODULES)
		{
			appendStringInfo(&names, " and others");
			break;
		}
		told += append_module(&names, lfirst(cell), ++visit, symbols);
	}
	return told == 0 ? NULL : names.data;
}

/* Those of the postmaster's that the server itself is linked to, and that call malloc. */
static const char *
linked_callers(PlhSymbols *symbols)
{
	List	   *wanted = plh_symbols_linked_to(symbols, my_exec_path);
	StringInfoData names;
	ListCell   *cell;
	ListCell   *name;

	initStringInfo(&names);
	foreach(cell, plh_server_processes_binaries(PostmasterPid))
	{
		const char *path = strVal(lfirst(cell));
		bool		is_wanted = false;

		foreach(name, wanted)
			is_wanted = is_wanted || is_named(path, lfirst(name));
		CHECK_FOR_INTERRUPTS();
		if (is_wanted && !is_of_no_interest(path) && plh_symbols_calls_malloc(symbols, path))
			appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ",
							 last_dir_separator(path) + 1);
	}
	return names.len == 0 ? NULL : names.data;
}

static bool
has_used_jit(const List *binaries)
{
	ListCell   *cell;

	foreach(cell, binaries)
		if (strstr(strVal(lfirst(cell)), "/llvmjit.so") != NULL)
		return true;
	return false;
}

/* PostgreSQL's own modules that read results of other servers by libpq. */
static void
note_client(PlhLoadedCode *loaded, const char *name)
{
	loaded->has_dblink = loaded->has_dblink || strcmp(name, "dblink.so") == 0;
	loaded->has_postgres_fdw = loaded->has_postgres_fdw || strcmp(name, "postgres_fdw.so") == 0;
}

/*
 * What a process has loaded; nothing where that can't be read.  PL/pgSQL keeps its values in memory
 * contexts, and what a compiler of queries brings with it is its own.
 */
PlhLoadedCode
plh_malloc_callers_loaded(int pid)
{
	List	   *own = own_binaries(pid);
	PlhLoadedCode loaded = {.has_jit = has_used_jit(plh_server_processes_binaries(pid))};
	ListCell   *cell;

	foreach(cell, own)
	{
		const char *name = last_dir_separator(((OwnBinary *) lfirst(cell))->path) + 1;
		const char *language = plh_blamed_code_language(name);

		note_client(&loaded, name);
		if (language == NULL)
			loaded.has_others = loaded.has_others || !loaded.has_jit;
		else if (strcmp(language, "PL/pgSQL") != 0)
			loaded.language = language;
	}
	return loaded;
}

PlhMallocCallers
plh_malloc_callers_find(int pid, PlhSymbols *symbols)
{
	List	   *binaries = plh_server_processes_binaries(pid);

	return (PlhMallocCallers)
	{
		.are_known = binaries != NIL,
			.loaded = loaded_callers(pid, symbols),
			.linked = linked_callers(symbols),
			.has_jit = has_used_jit(binaries)
	};
}
