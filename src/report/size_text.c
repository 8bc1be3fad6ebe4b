/*
 * size_text.c
 *	  Sizes as people read them.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "report/size_text.h"

/*
 * A size as pg_size_pretty has it, in the current memory context.
 */
char *
plh_size_text(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum(bytes)));
}
