/*
 * blamed_code.c
 *	  Whose code a stack leads to.
 *
 * A DBA can report a leak to the authors of an extension.  Of a language the author is whoever
 * wrote the function, and of a hook that only calls what it stands before, such as
 * pg_stat_statements', nobody is.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "report/blamed_code.h"
#include "stack/allocation_wrappers.h"

/* The libraries of languages, as they begin. */
static const struct
{
	const char *library;
	const char *language;
}			languages[] = {
	{"plpgsql.", "PL/pgSQL"},
	{"plperl.", "PL/Perl"},
	{"libperl.", "PL/Perl"},
	{"plpython", "PL/Python"},
	{"libpython", "PL/Python"},
	{"pltcl.", "PL/Tcl"},
	{"libtcl", "PL/Tcl"}
};

/* Others that nobody is to blame for, as they begin: ours, and PostgreSQL's own. */
static const char *const own_libraries[] = {
	"pg_leakhunt", "pgoutput.", "llvmjit", "dict_snowball.", "utf8_and_", "lib"
};

/*
 * The language of a library; NULL where it is none's.
 */
const char *
plh_blamed_code_language(const char *library)
{
	for (int i = 0; i < lengthof(languages); i++)
		if (strncmp(library, languages[i].library, strlen(languages[i].library)) == 0)
			return languages[i].language;
	return NULL;
}

/* Is it a library that comes with PostgreSQL or the system? */
static bool
is_own_library(const char *library)
{
	for (int i = 0; i < lengthof(own_libraries); i++)
		if (strncmp(library, own_libraries[i], strlen(own_libraries[i])) == 0)
			return true;
	return false;
}

/* The file name of a frame's library; NULL in the server and in JIT code. */
static const char *
library_of(const PlhFrameText *frame)
{
	const char *name = frame->module == NULL ? NULL : plh_stack_text_base_name(frame->module);

	return name != NULL && strstr(name, ".so") != NULL ? name : NULL;
}

/* Is it one of the server's functions that hooks call to do the work? */
static bool
is_behind_hook(const PlhFrameText *frame)
{
	return library_of(frame) == NULL && frame->function != NULL &&
		strncmp(frame->function, "standard_", strlen("standard_")) == 0;
}

/*
 * The extension or language that is nearest to the allocation.  Those that have only passed a call
 * of the server on to it, from a hook, are none.
 */
PlhBlamedCode
plh_blamed_code_find(const PlhStackText *stack)
{
	PlhBlamedCode code = {NULL, NULL};
	bool		passes_on = false;

	for (int i = 0; i < stack->frame_count; i++)
	{
		const char *library = library_of(&stack->frames[i]);

		if (library == NULL)
			passes_on = is_behind_hook(&stack->frames[i]);
		else if (plh_blamed_code_language(library) != NULL)
		{
			code.language = plh_blamed_code_language(library);
			break;
		}
		else if (!passes_on && !is_own_library(library))
		{
			code.library = library;
			break;
		}
	}
	return code;
}

/* Is nothing known of the call site but its address?  A word like [no stack] is none. */
bool
plh_blamed_code_lacks_name(const PlhStackText *stack)
{
	const PlhFrameText *frame = &stack->frames[stack->site_frame];

	return stack->frame_count > 0 && frame->function == NULL && frame->text[0] != '[';
}

/*
 * The innermost function around a call site without a name that has one; NULL where the site has a
 * name, or none of them has.
 */
const char *
plh_blamed_code_caller(const PlhStackText *stack)
{
	if (!plh_blamed_code_lacks_name(stack))
		return NULL;
	for (int i = stack->site_frame + 1; i < stack->frame_count; i++)
		if (stack->frames[i].language == PLH_LANGUAGE_NONE &&
			plh_allocation_wrappers_kind(stack->frames[i].function) == PLH_FRAME_FUNCTION)
			return stack->frames[i].function;
	return NULL;
}

/*
 * The call site, with the innermost function around it that has a name where it has none:
 * "postgres+0x660d32, called by exec_stmt_execsql".
 */
const char *
plh_blamed_code_site(const PlhStackText *stack)
{
	const char *caller = plh_blamed_code_caller(stack);

	return caller == NULL ? stack->site : psprintf("%s, called by %s", stack->site, caller);
}

/* Has a frame without a name a word that says why, such as [file replaced]? */
static bool
is_explained(const PlhFrameText *frame)
{
	Size		bytes = strlen(frame->text);

	return bytes > 0 && frame->text[bytes - 1] == ']';
}

/*
 * The path of the binary whose debug symbols would give the call site a name; NULL where it has
 * one, where it is in code that no file has, and where the file is at fault.
 */
const char *
plh_blamed_code_nameless(const PlhStackText *stack)
{
	const PlhFrameText *frame = &stack->frames[stack->site_frame];

	return plh_blamed_code_lacks_name(stack) && !is_explained(frame) ? frame->module : NULL;
}

/*
 * What to do where the names of these binaries are missing, in three lines.
 */
char *
plh_blamed_code_names_hint(const char *const *paths, int count)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "Function names of ");
	for (int i = 0; i < count; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "" : i < count - 1 ? ", " : " and ",
						 plh_stack_text_base_name(paths[i]));
	appendStringInfoString(&text, " are missing.\n" PLH_NAMES_SOURCES "\n" PLH_NAMES_PAGE);
	return text.data;
}
