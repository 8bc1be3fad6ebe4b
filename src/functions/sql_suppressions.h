/*
 * sql_suppressions.h
 *	  The suppressions that a function of SQL heeds.
 */
#pragma once

#include "fmgr.h"

#include "telling/suppression.h"

extern PlhSuppressions *plh_sql_suppressions_read(FunctionCallInfo fcinfo);
