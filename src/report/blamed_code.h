/*
 * blamed_code.h
 *	  Whose code a stack leads to, and which part of the server a function belongs to.
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

/* The nearest to the allocation, but for hooks that only pass a call on to the server. */
extern PlhBlamedCode plh_blamed_code_find(const PlhStackText *stack);

/* The library of a frame, if it may be blamed; else NULL. */
extern const char *plh_blamed_code_extension(const PlhStackText *stack, int index);

/* Is nothing known of the call site but its address?  A word like [no stack] is none. */
extern bool plh_blamed_code_lacks_name(const PlhStackText *stack);

/* The innermost named function around a call site that has no name itself; else NULL. */
extern const char *plh_blamed_code_caller(const PlhStackText *stack);

/* The call site, with that caller if any: "postgres+0x660d32, called by exec_stmt_execsql". */
extern const char *plh_blamed_code_site(const PlhStackText *stack);

/* The binary whose symbols would name the call site; NULL where it has a name, or no sound file. */
extern const char *plh_blamed_code_nameless(const PlhStackText *stack);

/* What to do where the names of these binaries are missing. */
extern char *plh_blamed_code_names_hint(const char *const *paths, int count);

/* The part of the server that a function belongs to.  Pages have the numbers: append only. */
typedef enum PlhCodePart
{
	PLH_CODE_NONE,				/* no code: a context, a statement, what
								 * stands for a stack */
	PLH_CODE_EXECUTOR,
	PLH_CODE_PLANNER,			/* from the parser on */
	PLH_CODE_CACHES,			/* of catalogs and plans */
	PLH_CODE_REPLICATION,
	PLH_CODE_STORAGE,			/* access methods, buffers, locks */
	PLH_CODE_SERVER,			/* all else in the server's binary */
	PLH_CODE_EXTENSION,			/* and a procedural language's library */
	PLH_CODE_LIBRARY,			/* of the system */
	PLH_CODE_ROUTINE			/* a function in SQL or a procedural language */
#define PLH_CODE_PARTS (PLH_CODE_ROUTINE + 1)
} PlhCodePart;

/* By the folder of its source where debug information tells it, else by its name. */
extern PlhCodePart plh_blamed_code_part(const PlhFrameText *frame);

/* As in a legend. */
extern const char *plh_blamed_code_part_name(PlhCodePart part);
