/*
 * sql_arguments.h
 *	  Arguments of functions of SQL, by their numbers.
 *
 * Texts belong to the current memory context.
 */
#pragma once

#include "fmgr.h"

/* The name with that number, from 0 on; NULL behind the last. */
typedef const char *(*PlhSqlName) (int number);

/* False if it is null. */
extern bool plh_sql_arguments_flag(FunctionCallInfo fcinfo, int number);

/* NULL if it is null. */
extern char *plh_sql_arguments_text(FunctionCallInfo fcinfo, int number);

/* Those that must not be null, which is an ERROR. */
extern char *plh_sql_arguments_required_text(FunctionCallInfo fcinfo, int number, const char *name);
extern bool plh_sql_arguments_required_flag(FunctionCallInfo fcinfo, int number, const char *name);

/* A limit of at least that; 0 if it is null.  A lower one is an ERROR. */
extern int	plh_sql_arguments_limit(FunctionCallInfo fcinfo, int number,
									const char *name, int least);

/* An interval in microseconds; 0 if it is null.  One of no time, or of very long, is an ERROR. */
extern int64 plh_sql_arguments_duration(FunctionCallInfo fcinfo, int number, const char *name);

/*
 * An array of names: the bits with their numbers.  Another name is an ERROR with a hint that lists
 * them.  "what" is what a name is of.
 */
extern int	plh_sql_arguments_names(FunctionCallInfo fcinfo, int number,
									const char *what, PlhSqlName name_of);
