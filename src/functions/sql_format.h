/*
 * sql_format.h
 *	  The argument that says whether people read a function's result, or programs.
 */
#pragma once

#include "fmgr.h"

/* JSON?  It is text if it is null; another format than the two is an ERROR. */
extern bool plh_sql_format_is_json(FunctionCallInfo fcinfo, int number);
