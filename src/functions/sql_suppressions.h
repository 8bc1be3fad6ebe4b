/*
 * sql_suppressions.h
 *	  The suppressions that a function of SQL heeds.
 */
#ifndef PLH_SQL_SUPPRESSIONS_H
#define PLH_SQL_SUPPRESSIONS_H

#include "fmgr.h"

#include "telling/suppression.h"

extern PlhSuppressions *plh_sql_suppressions_read(FunctionCallInfo fcinfo);

#endif							/* PLH_SQL_SUPPRESSIONS_H */
