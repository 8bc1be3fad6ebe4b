/*
 * routine_reader.h
 *	  What is known of a routine that runs, and how a language's error context callback leads to
 *	  it.
 *
 * While a routine runs, its language has a callback in error_context_stack, and what that gets as
 * its argument leads to the routine.  The functions of a reader may be called inside palloc; they
 * never palloc, throw or lock.
 */
#pragma once

#include "base/routine_language.h"

/* A routine has a name of at most this many bytes; names of contexts have no more. */
#define PLH_ROUTINE_NAME_MAX 255

typedef struct PlhRoutine
{
	const char *name;			/* as long as it runs, or "made" */
	int			line;			/* 0: not known */
	char		made[PLH_ROUTINE_NAME_MAX + 1];
} PlhRoutine;

/*
 * What tells a routine at a line from all others of its language, as long as a process lives.  It
 * is returned in registers.
 */
typedef struct PlhRoutineMark
{
	uint64		version;		/* of its definition */
	uint64		place;			/* PLH_ROUTINE_PLACE; 0: it can't be told so */
} PlhRoutineMark;

#define PLH_ROUTINE_PLACE(oid, line) ((uint64) (oid) << 32 | ((line) + 1))

/* What an argument says about the callback that it is of. */
typedef enum PlhTrust
{
	PLH_TRUST_NONE,				/* nothing */
	PLH_TRUST_ARGUMENT,			/* this one may be read */
	PLH_TRUST_CALLBACK			/* so may all of them be */
} PlhTrust;

typedef struct PlhRoutineReader
{
	PlhRoutineLanguage language;
	const char *library;		/* of the callback; NULL: it is the server's */

	/* Reads nothing that may not be there. */
	PlhTrust	(*prove) (const void *argument);

	/* Fills name and line in; false if there is nothing to say. */
	bool		(*read) (const void *argument, PlhRoutine *routine);

	/* The same in fewer instructions; NULL where a language can't. */
	PlhRoutineMark (*mark) (const void *argument);
} PlhRoutineReader;

/* Some packages of headers have those of the server only, without PL/pgSQL's. */
#if __has_include("plpgsql.h")
#define PLH_HAVE_PLPGSQL 1
extern const PlhRoutineReader plh_plpgsql_routine;
#else
#define PLH_HAVE_PLPGSQL 0
#endif
extern const PlhRoutineReader plh_sql_routine;
extern const PlhRoutineReader plh_perl_routine;
extern const PlhRoutineReader plh_python_routine;

/* The code of DO has no name. */
#define PLH_DO_BLOCK "DO block"

/* Is that a text that may be the name of a routine? */
extern bool plh_routine_reader_is_name(const char *text);

/* Makes a name of several parts, the last of which is NULL.  What has no room is cut off. */
extern void plh_routine_reader_put_name(PlhRoutine *routine,...);
