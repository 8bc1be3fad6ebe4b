/*
 * size_text.c
 *	  Writes sizes with a unit, as pg_size_pretty does.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "report/size_text.h"

/*
 * Write a size, negative ones included.
 */
char *
plh_size_text(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum(bytes)));
}
