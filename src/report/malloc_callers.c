/*
 * malloc_callers.c
 *	  Who may have called malloc in a process, beside the server's own contexts.
 *
 * The maps of the process name its libraries, and what the dynamic linker resolves for each says if
 * it calls malloc.  Those that the process has loaded itself are likelier culprits than those that
 * the server is linked to, which all of its processes have.  Of these, only the ones that the
 * server names itself count: they bring dozens of others.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/value.h"

#include "reader/server_processes.h"
#include "report/blamed_code.h"
#include "report/malloc_callers.h"

/* The C library itself, and this one, are no answer. */
static bool
is_of_no_interest(const char *path)
{
	const char *name = last_dir_separator(path) + 1;

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
		strncmp(name, "ld-", 3) == 0 || strcmp(name, "pg_leakhunt.so") == 0 ||
		strcmp(path, my_exec_path) == 0;
}

static bool
is_needed_by_server(const char *path)
{
	const char *name = last_dir_separator(path) + 1;
	void	   *server = dlopen(NULL, RTLD_LAZY);
	struct link_map *map = NULL;
	const char *texts = NULL;
	bool		needed = false;

	if (server == NULL || dlinfo(server, RTLD_DI_LINKMAP, &map) != 0)
		return true;
	for (const Elf64_Dyn *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB)
			texts = (const char *) (entry->d_un.d_ptr < map->l_addr ?
									map->l_addr + entry->d_un.d_ptr :
									entry->d_un.d_ptr);
	for (const Elf64_Dyn *entry = map->l_ld; entry->d_tag != DT_NULL && texts != NULL; entry++)
	{
		const char *wanted = texts + entry->d_un.d_val;

		/* a file has a longer version than the name by which it is needed */
		if (entry->d_tag == DT_NEEDED && strncmp(name, wanted, strlen(wanted)) == 0)
			needed = true;
	}
	dlclose(server);
	return needed;
}

/* Those of languages first: what their functions keep is the likeliest cause. */
static List *
languages_first(const List *binaries)
{
	List	   *languages = NIL;
	List	   *rest = NIL;
	ListCell   *cell;

	foreach(cell, binaries)
	{
		void	   *binary = lfirst(cell);
		const char *name = last_dir_separator(strVal(binary)) + 1;

		if (plh_blamed_code_language(name) != NULL)
			languages = lappend(languages, binary);
		else
			rest = lappend(rest, binary);
	}
	return list_concat(languages, rest);
}

/*
 * The names of those binaries that call malloc, and are in "others", or not; NULL where there are
 * none.
 */
static const char *
names_of_callers(const List *binaries, const List *others, bool in_others, PlhSymbols *symbols)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, binaries)
	{
		const char *path = strVal(lfirst(cell));

		CHECK_FOR_INTERRUPTS();
		if (is_of_no_interest(path) ||
			list_member(others, lfirst(cell)) != in_others ||
			(in_others && !is_needed_by_server(path)) ||
			!plh_symbols_calls_malloc(symbols, path))
			continue;
		appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ", last_dir_separator(path) + 1);
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

/*
 * What a process has loaded; nothing where that can't be read.  PL/pgSQL keeps its values in memory
 * contexts, and what a compiler of queries brings with it is its own.
 */
PlhLoadedCode
plh_malloc_callers_loaded(int pid)
{
	List	   *binaries = plh_server_processes_binaries(pid);
	List	   *common = plh_server_processes_binaries(PostmasterPid);
	PlhLoadedCode loaded = {.has_jit = has_used_jit(binaries)};
	ListCell   *cell;

	foreach(cell, binaries)
	{
		const char *path = strVal(lfirst(cell));
		const char *name = last_dir_separator(path) + 1;
		const char *language = plh_blamed_code_language(name);

		if (is_of_no_interest(path) || list_member(common, lfirst(cell)))
			continue;
		loaded.has_libpq = loaded.has_libpq || strncmp(name, "libpq.so", 8) == 0;
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
	List	   *binaries = languages_first(plh_server_processes_binaries(pid));
	List	   *common = plh_server_processes_binaries(PostmasterPid);

	return (PlhMallocCallers)
	{
		.are_known = binaries != NIL,
			.loaded = names_of_callers(binaries, common, false, symbols),
			.linked = names_of_callers(binaries, common, true, symbols),
			.has_jit = has_used_jit(binaries)
	};
}
