/*
 * code_part.c
 *	  Which part of the server a function belongs to.
 *
 * Debug information tells it by the folder of the source.  Without it the name of the function is
 * left, which tells it of most: those that are not known count as the server's.
 */
#include "postgres.h"

#include "report/code_part.h"

/* Something that begins with, or contains, a text, and its part. */
typedef struct Mark
{
	const char *text;
	PlhCodePart part;
} Mark;

/* Folders of PostgreSQL's sources. */
static const Mark folders[] = {
	{"/backend/executor/", PLH_CODE_EXECUTOR},
	{"/backend/optimizer/", PLH_CODE_PLANNER},
	{"/backend/parser/", PLH_CODE_PLANNER},
	{"/backend/rewrite/", PLH_CODE_PLANNER},
	{"/backend/catalog/", PLH_CODE_CACHES},
	{"/utils/cache/", PLH_CODE_CACHES},
	{"/backend/replication/", PLH_CODE_REPLICATION},
	{"/backend/access/", PLH_CODE_STORAGE},
	{"/backend/storage/", PLH_CODE_STORAGE}
};

/* Names of functions, as they begin; of two that fit, the first counts. */
static const Mark names[] = {
	{"Exec", PLH_CODE_EXECUTOR},
	{"exec_simple_query", PLH_CODE_SERVER},
	{"exec_", PLH_CODE_EXECUTOR},
	{"standard_Executor", PLH_CODE_EXECUTOR},
	{"MultiExec", PLH_CODE_EXECUTOR},
	{"SPI_", PLH_CODE_EXECUTOR},
	{"_SPI_", PLH_CODE_EXECUTOR},
	{"fmgr_sql", PLH_CODE_EXECUTOR},
	{"agg_", PLH_CODE_EXECUTOR},
	{"planner", PLH_CODE_PLANNER},
	{"standard_planner", PLH_CODE_PLANNER},
	{"subquery_planner", PLH_CODE_PLANNER},
	{"query_planner", PLH_CODE_PLANNER},
	{"grouping_planner", PLH_CODE_PLANNER},
	{"pg_plan_", PLH_CODE_PLANNER},
	{"pg_analyze", PLH_CODE_PLANNER},
	{"pg_rewrite", PLH_CODE_PLANNER},
	{"pg_parse_query", PLH_CODE_PLANNER},
	{"parse_", PLH_CODE_PLANNER},
	{"transform", PLH_CODE_PLANNER},
	{"raw_parser", PLH_CODE_PLANNER},
	{"base_yy", PLH_CODE_PLANNER},
	{"make_one_rel", PLH_CODE_PLANNER},
	{"QueryRewrite", PLH_CODE_PLANNER},
	{"SearchCatCache", PLH_CODE_CACHES},
	{"SearchSysCache", PLH_CODE_CACHES},
	{"CatalogCache", PLH_CODE_CACHES},
	{"CatCache", PLH_CODE_CACHES},
	{"Relation", PLH_CODE_CACHES},
	{"load_rel", PLH_CODE_CACHES},
	{"lookup_type_cache", PLH_CODE_CACHES},
	{"CreateCachedPlan", PLH_CODE_CACHES},
	{"CompleteCachedPlan", PLH_CODE_CACHES},
	{"BuildCachedPlan", PLH_CODE_CACHES},
	{"GetCachedPlan", PLH_CODE_CACHES},
	{"RevalidateCachedQuery", PLH_CODE_CACHES},
	{"InitCatalogCache", PLH_CODE_CACHES},
	{"RI_", PLH_CODE_CACHES},
	{"Reorder", PLH_CODE_REPLICATION},
	{"Logical", PLH_CODE_REPLICATION},
	{"SnapBuild", PLH_CODE_REPLICATION},
	{"WalSnd", PLH_CODE_REPLICATION},
	{"WalReceiver", PLH_CODE_REPLICATION},
	{"Apply", PLH_CODE_REPLICATION},
	{"apply_", PLH_CODE_REPLICATION},
	{"heap_", PLH_CODE_STORAGE},
	{"index_", PLH_CODE_STORAGE},
	{"table_", PLH_CODE_STORAGE},
	{"systable_", PLH_CODE_STORAGE},
	{"bt", PLH_CODE_STORAGE},
	{"_bt_", PLH_CODE_STORAGE},
	{"gin", PLH_CODE_STORAGE},
	{"gist", PLH_CODE_STORAGE},
	{"smgr", PLH_CODE_STORAGE},
	{"md", PLH_CODE_STORAGE},
	{"Lock", PLH_CODE_STORAGE},
	{"ReadBuffer", PLH_CODE_STORAGE},
	{"XLog", PLH_CODE_STORAGE}
};

/* The names of the parts. */
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

/* The part of a file of PostgreSQL's sources; none if its folder tells nothing. */
static PlhCodePart
part_by_file(const char *file)
{
	for (int i = 0; i < lengthof(folders); i++)
		if (strstr(file, folders[i].text) != NULL)
			return folders[i].part;
	return PLH_CODE_NONE;
}

static PlhCodePart
part_by_name(const char *function)
{
	for (int i = 0; i < lengthof(names); i++)
		if (strncmp(function, names[i].text, strlen(names[i].text)) == 0)
			return names[i].part;
	return PLH_CODE_SERVER;
}

/* The part of code in a library; the server's own libraries are the server. */
static PlhCodePart
part_of_library(const char *library)
{
	if (strncmp(library, "pgoutput.", strlen("pgoutput.")) == 0 ||
		strncmp(library, "libpqwalreceiver.", strlen("libpqwalreceiver.")) == 0)
		return PLH_CODE_REPLICATION;
	if (strncmp(library, "pg_leakhunt.", strlen("pg_leakhunt.")) == 0 ||
		strncmp(library, "llvmjit", strlen("llvmjit")) == 0)
		return PLH_CODE_SERVER;
	return strncmp(library, "lib", strlen("lib")) == 0 ||
		strncmp(library, "ld-", strlen("ld-")) == 0 ? PLH_CODE_LIBRARY : PLH_CODE_EXTENSION;
}

PlhCodePart
plh_code_part_of(const PlhFrameText *frame)
{
	const char *module = frame->module == NULL ? NULL : plh_stack_text_base_name(frame->module);
	PlhCodePart part = PLH_CODE_NONE;

	if (frame->language != PLH_LANGUAGE_NONE)
		return PLH_CODE_ROUTINE;
	if (module == NULL)
		return PLH_CODE_NONE;
	if (strstr(module, ".so") != NULL)
		return part_of_library(module);
	if (frame->file != NULL)
		part = part_by_file(frame->file);
	if (part == PLH_CODE_NONE)
		part = frame->function == NULL ? PLH_CODE_SERVER :
			frame->file != NULL ? PLH_CODE_SERVER : part_by_name(frame->function);
	return part;
}

const char *
plh_code_part_name(PlhCodePart part)
{
	return part_names[part];
}
