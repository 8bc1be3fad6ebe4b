/*
 * blamed_code.c
 *	  Whose code a stack leads to, and which part of the server a function belongs to.
 *
 * A DBA can report a leak to the authors of an extension.  Of a language the author is whoever
 * wrote the function, and of a hook that only calls what it stands before, such as
 * pg_stat_statements', nobody is.
 */
#include "postgres.h"

#include "common/string.h"
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

const char *
plh_blamed_code_language(const char *library)
{
	for (int i = 0; i < lengthof(languages); i++)
		if (strncmp(library, languages[i].library, strlen(languages[i].library)) == 0)
			return languages[i].language;
	return NULL;
}

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

/*
 * Does a frame of a library only pass a call on?  Hooks call the server's functions of these names
 * to do the work.
 */
static bool
passes_on(const PlhStackText *stack, int index)
{
	while (--index >= 0)
		if (library_of(&stack->frames[index]) == NULL)
			return stack->frames[index].function != NULL &&
				strncmp(stack->frames[index].function, "standard_", strlen("standard_")) == 0;
	return false;
}

const char *
plh_blamed_code_extension(const PlhStackText *stack, int index)
{
	const char *library = library_of(&stack->frames[index]);

	return library == NULL || plh_blamed_code_language(library) != NULL ||
		is_own_library(library) || passes_on(stack, index) ? NULL : library;
}

PlhBlamedCode
plh_blamed_code_find(const PlhStackText *stack)
{
	PlhBlamedCode code = {NULL, NULL};

	for (int i = 0; i < stack->frame_count && code.library == NULL; i++)
	{
		const char *library = library_of(&stack->frames[i]);

		code.library = plh_blamed_code_extension(stack, i);
		code.language = library == NULL ? NULL : plh_blamed_code_language(library);
		if (code.language != NULL)
			break;
	}
	return code;
}

bool
plh_blamed_code_lacks_name(const PlhStackText *stack)
{
	const PlhFrameText *frame = &stack->frames[stack->site_frame];

	return stack->frame_count > 0 && frame->function == NULL && frame->text[0] != '[';
}

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

const char *
plh_blamed_code_site(const PlhStackText *stack)
{
	const char *caller = plh_blamed_code_caller(stack);

	return caller == NULL ? stack->site : psprintf("%s, called by %s", stack->site, caller);
}

const char *
plh_blamed_code_nameless(const PlhStackText *stack)
{
	const PlhFrameText *frame = &stack->frames[stack->site_frame];

	/* a word at its end says why it has none, such as [file replaced] */
	return plh_blamed_code_lacks_name(stack) && !pg_str_endswith(frame->text, "]") ?
		frame->module : NULL;
}

char *
plh_blamed_code_names_hint(const char *const *paths, int count)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "Function names of ");
	for (int i = 0; i < count; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "" : i < count - 1 ? ", " : " and ",
						 plh_stack_text_base_name(paths[i]));
	appendStringInfoString(&text, " are missing. " PLH_NAMES_PAGE);
	return text.data;
}

/* Something that begins with, or contains, a text, and its part. */
typedef struct Mark
{
	const char *text;
	PlhCodePart part;
} Mark;

/* Folders of PostgreSQL's sources. */
static const Mark folders[] = {
	{"/backend/executor/", PLH_CODE_EXECUTOR}, {"/backend/optimizer/", PLH_CODE_PLANNER},
	{"/backend/parser/", PLH_CODE_PLANNER}, {"/backend/rewrite/", PLH_CODE_PLANNER},
	{"/backend/catalog/", PLH_CODE_CACHES}, {"/utils/cache/", PLH_CODE_CACHES},
	{"/backend/replication/", PLH_CODE_REPLICATION}, {"/backend/access/", PLH_CODE_STORAGE},
	{"/backend/storage/", PLH_CODE_STORAGE}
};

/* Names of functions, as they begin; of two that fit, the first counts. */
static const Mark names[] = {
	{"Exec", PLH_CODE_EXECUTOR}, {"exec_simple_query", PLH_CODE_SERVER},
	{"exec_", PLH_CODE_EXECUTOR}, {"standard_Executor", PLH_CODE_EXECUTOR},
	{"MultiExec", PLH_CODE_EXECUTOR}, {"SPI_", PLH_CODE_EXECUTOR}, {"_SPI_", PLH_CODE_EXECUTOR},
	{"fmgr_sql", PLH_CODE_EXECUTOR}, {"agg_", PLH_CODE_EXECUTOR}, {"planner", PLH_CODE_PLANNER},
	{"standard_planner", PLH_CODE_PLANNER}, {"subquery_planner", PLH_CODE_PLANNER},
	{"query_planner", PLH_CODE_PLANNER}, {"grouping_planner", PLH_CODE_PLANNER},
	{"pg_plan_", PLH_CODE_PLANNER}, {"pg_analyze", PLH_CODE_PLANNER},
	{"pg_rewrite", PLH_CODE_PLANNER}, {"pg_parse_query", PLH_CODE_PLANNER},
	{"parse_", PLH_CODE_PLANNER}, {"transform", PLH_CODE_PLANNER},
	{"raw_parser", PLH_CODE_PLANNER}, {"base_yy", PLH_CODE_PLANNER},
	{"make_one_rel", PLH_CODE_PLANNER}, {"QueryRewrite", PLH_CODE_PLANNER},
	{"SearchCatCache", PLH_CODE_CACHES}, {"SearchSysCache", PLH_CODE_CACHES},
	{"CatalogCache", PLH_CODE_CACHES}, {"CatCache", PLH_CODE_CACHES},
	{"Relation", PLH_CODE_CACHES}, {"load_rel", PLH_CODE_CACHES},
	{"lookup_type_cache", PLH_CODE_CACHES}, {"CreateCachedPlan", PLH_CODE_CACHES},
	{"CompleteCachedPlan", PLH_CODE_CACHES}, {"BuildCachedPlan", PLH_CODE_CACHES},
	{"GetCachedPlan", PLH_CODE_CACHES}, {"RevalidateCachedQuery", PLH_CODE_CACHES},
	{"InitCatalogCache", PLH_CODE_CACHES}, {"RI_", PLH_CODE_CACHES},
	{"Reorder", PLH_CODE_REPLICATION}, {"Logical", PLH_CODE_REPLICATION},
	{"SnapBuild", PLH_CODE_REPLICATION}, {"WalSnd", PLH_CODE_REPLICATION},
	{"WalReceiver", PLH_CODE_REPLICATION}, {"Apply", PLH_CODE_REPLICATION},
	{"apply_", PLH_CODE_REPLICATION}, {"heap_", PLH_CODE_STORAGE}, {"index_", PLH_CODE_STORAGE},
	{"table_", PLH_CODE_STORAGE}, {"systable_", PLH_CODE_STORAGE}, {"bt", PLH_CODE_STORAGE},
	{"_bt_", PLH_CODE_STORAGE}, {"gin", PLH_CODE_STORAGE}, {"gist", PLH_CODE_STORAGE},
	{"smgr", PLH_CODE_STORAGE}, {"md", PLH_CODE_STORAGE}, {"Lock", PLH_CODE_STORAGE},
	{"ReadBuffer", PLH_CODE_STORAGE}, {"XLog", PLH_CODE_STORAGE}
};

/* Names of libraries, as they begin; of two that fit, the first counts. */
static const Mark libraries[] = {
	{"pgoutput.", PLH_CODE_REPLICATION}, {"libpqwalreceiver.", PLH_CODE_REPLICATION},
	{"pg_leakhunt.", PLH_CODE_SERVER}, {"llvmjit", PLH_CODE_SERVER},
	{"lib", PLH_CODE_LIBRARY}, {"ld-", PLH_CODE_LIBRARY}
};

static const char *const part_names[PLH_CODE_PARTS] = {
	[PLH_CODE_NONE] = "no code",
	[PLH_CODE_EXECUTOR] = "executor",
	[PLH_CODE_PLANNER] = "parser and planner",
	[PLH_CODE_CACHES] = "catalog and plan caches",
	[PLH_CODE_REPLICATION] = "replication",
	[PLH_CODE_STORAGE] = "storage and locks",
	[PLH_CODE_SERVER] = "other parts of the server",
	[PLH_CODE_EXTENSION] = "extension or language",
	[PLH_CODE_LIBRARY] = "system library",
	[PLH_CODE_ROUTINE] = "function in SQL or PL"
};

/* The part of a name that begins as one of those marks. */
static PlhCodePart
part_by_name(const char *name, const Mark *marks, int count, PlhCodePart otherwise)
{
	for (int i = 0; i < count; i++)
		if (strncmp(name, marks[i].text, strlen(marks[i].text)) == 0)
			return marks[i].part;
	return otherwise;
}

PlhCodePart
plh_blamed_code_part(const PlhFrameText *frame)
{
	const char *module = frame->module == NULL ? NULL : plh_stack_text_base_name(frame->module);

	if (frame->language != PLH_LANGUAGE_NONE)
		return PLH_CODE_ROUTINE;
	if (module == NULL)
		return PLH_CODE_NONE;
	if (strstr(module, ".so") != NULL)
		return part_by_name(module, libraries, lengthof(libraries), PLH_CODE_EXTENSION);
	if (frame->file != NULL)
	{
		for (int i = 0; i < lengthof(folders); i++)
			if (strstr(frame->file, folders[i].text) != NULL)
				return folders[i].part;
	}
	else if (frame->function != NULL)
		return part_by_name(frame->function, names, lengthof(names), PLH_CODE_SERVER);
	return PLH_CODE_SERVER;
}

const char *
plh_blamed_code_part_name(PlhCodePart part)
{
	return part_names[part];
}
