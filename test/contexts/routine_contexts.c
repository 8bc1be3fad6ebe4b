/*
 * routine_contexts.c
 *	  Compares, at each statement of PL/pgSQL, the routines that pg_leakhunt finds with
 *	  those of GET DIAGNOSTICS PG_CONTEXT.
 *
 * It stands in the plugin slot of PL/pgSQL, as a debugger does.  What differs is written to
 * the server's log, and how many were compared when the process exits.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "plpgsql.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "base/own_memory.h"
#include "routine/running_routines.h"
#include "stack/modules.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);
extern void *__libc_stack_end;

/* What the code that finds routines has from others. */
unsigned long long plh_modules_unloaded;
uintptr_t	plh_stack_walk_low;
uintptr_t	plh_stack_walk_end;

static PlhModule server = {.path = "postgres"};
static long compared;
static long differing;

PlhModule *
plh_modules_find(uintptr_t address)
{
	static PlhModule module;
	Dl_info		info;

	if (address >= server.text_start && address < server.text_end)
		return &server;
	if (!dladdr((void *) address, &info))
		return NULL;
	module.path = info.dli_fname;
	return &module;
}

const PlhModule *
plh_modules_executable(void)
{
	return &server;
}

/* Find where the server's code lies, by a function of it and the map of the process. */
static void
find_server(void)
{
	FILE	   *map = fopen("/proc/self/maps", "r");
	char		line[1024];
	uintptr_t	start;
	uintptr_t	end;

	while (map != NULL && fgets(line, sizeof(line), map) != NULL)
	{
		if (sscanf(line, "%lx-%lx r-x", &start, &end) == 2 &&
			(uintptr_t) GetErrorContextStack >= start && (uintptr_t) GetErrorContextStack < end)
		{
			server.text_start = start;
			server.text_end = end;
		}
	}
	if (map != NULL)
		fclose(map);
}

/* The routines that the code of pg_leakhunt finds, one a line. */
static char *
found_routines(bool *all)
{
	StringInfoData text;
	PlhRoutineWalk walk;
	PlhRunningRoutine running;

	initStringInfo(&text);
	plh_running_routines_begin(&walk);
	while (plh_running_routines_next(&walk, &running))
	{
		PlhRoutine	routine = {.line = 0};
		const char *name;

		if (!running.reader->read(running.argument, &routine))
			continue;
		name = routine.name;

		/* PG_CONTEXT knows no triggers */
		if (strncmp(name, "trigger ", 8) == 0 && strstr(name, ": ") != NULL)
			name = strstr(name, ": ") + 2;
		appendStringInfoString(&text, name);
		if (routine.line > 0)
			appendStringInfo(&text, " line %d", routine.line);
		appendStringInfoChar(&text, '\n');
	}
	*all = walk.next == NULL;
	return text.data;
}

/* A line of PL/pgSQL's: the signature, and the line if there is one. */
static void
put_plpgsql(StringInfo text, const char *line, int length)
{
	const char *at = NULL;
	const char *place;
	char	   *copy = pnstrdup(line, length);

	for (place = copy; (place = strstr(place, ") line ")) != NULL; place++)
		at = place + 1;
	if (at == NULL && strncmp(copy, "inline_code_block line ", 23) == 0)
		at = copy + 17;
	if (strncmp(copy, "inline_code_block", 17) == 0)
		appendStringInfoString(text, "DO block");
	else
		appendBinaryStringInfo(text, copy, at != NULL ? at - copy :
							   strrchr(copy, ')') != NULL ? strrchr(copy, ')') + 1 - copy : length);
	if (at != NULL)
		appendBinaryStringInfo(text, at, 6 + strspn(at + 6, "0123456789"));
	appendStringInfoChar(text, '\n');
}

/* A line that has a name in quotes. */
static void
put_quoted(StringInfo text, const char *language, const char *name)
{
	const char *end = strstr(name, "\" statement ");

	if (end == NULL)
		end = strpbrk(name, "\"\n");
	if (end != NULL)
		appendStringInfo(text, "%s function %.*s\n", language, (int) (end - name), name);
}

/* The same of PG_CONTEXT. */
static char *
context_routines(const char *context)
{
	StringInfoData text;

	initStringInfo(&text);
	while (context != NULL && *context != '\0')
	{
		int			length = strcspn(context, "\n");

		if (strncmp(context, "PL/pgSQL function ", 18) == 0)
			put_plpgsql(&text, context + 18, length - 18);
		else if (strncmp(context, "SQL function \"", 14) == 0)
			put_quoted(&text, "SQL", context + 14);
		else if (strncmp(context, "PL/Perl function \"", 18) == 0)
			put_quoted(&text, "PL/Perl", context + 18);
		else if (strncmp(context, "PL/Python function \"", 20) == 0)
			put_quoted(&text, "PL/Python", context + 20);
		else if (strncmp(context, "PL/Perl anonymous code block", 28) == 0)
			appendStringInfoString(&text, "DO block\n");
		context += length + (context[length] == '\n');
	}
	return text.data;
}

/* PL/pgSQL begins a statement. */
static void
compare(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "compared contexts",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(memory);
	bool		all;
	char	   *found = found_routines(&all);
	char	   *expected = context_routines(GetErrorContextStack());

	compared++;
	if (all ? strcmp(found, expected) != 0 : strncmp(found, expected, strlen(found)) != 0)
	{
		differing++;
		elog(LOG, "routine_contexts: found <%s> instead of <%s>", found, expected);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(memory);
}

static void
report(int code, Datum argument)
{
	if (compared > 0)
		elog(LOG, "routine_contexts: %ld compared, %ld differ", compared, differing);
}

void
_PG_init(void)
{
	static PLpgSQL_plugin plugin = {.stmt_beg = compare};
	PLpgSQL_plugin **slot =
		(PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");

	plh_stack_walk_end = (uintptr_t) __libc_stack_end;
	plh_stack_walk_low = plh_stack_walk_end - ((uintptr_t) 64 << 20);
	find_server();
	plh_own_memory_start();
	before_shmem_exit(report, 0);
	*slot = &plugin;
}
