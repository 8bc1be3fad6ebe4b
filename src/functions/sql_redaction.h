/*
 * sql_redaction.h
 *	  Functions of SQL whose last argument says whether names and literals are left out.
 */
#pragma once

#include "fmgr.h"

/* Calls the function that does the work, with the same arguments. */
extern Datum plh_sql_redaction_call(FunctionCallInfo fcinfo, PGFunction function);
