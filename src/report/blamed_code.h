/*
 * blamed_code.h
 *	  Whose code a stack leads to: the extension or language that is nearest to the allocation,
 *	  and the caller that names a call site without a symbol.
 *
 * The results belong to the stack's texts, or to the current memory context.
 */
#pragma once

#include "report/stack_text.h"

/* What gives a binary the names of its functions, and where to read how. */
#define PLH_NAMES_SOURCES \
	"Names are in the debug symbols of exactly this version: a package *-dbgsym or *-debuginfo, or a server in pg_leakhunt.debuginfod_urls."
#define PLH_NAMES_PAGE "doc/names.md has the commands. A new session sees the names; no restart is needed."

/* Code outside of the server. */
typedef struct PlhBlamedCode
{
	const char *library;		/* file name of an extension; else NULL */
	const char *language;		/* such as "PL/pgSQL"; else NULL */
} PlhBlamedCode;

/* The language of a library, by its file name; NULL where it is none's. */
extern const char *plh_blamed_code_language(const char *library);
extern PlhBlamedCode plh_blamed_code_find(const PlhStackText *stack);
extern bool plh_blamed_code_lacks_name(const PlhStackText *stack);
extern const char *plh_blamed_code_caller(const PlhStackText *stack);
extern const char *plh_blamed_code_site(const PlhStackText *stack);
extern const char *plh_blamed_code_nameless(const PlhStackText *stack);
extern char *plh_blamed_code_names_hint(const char *const *paths, int count);
