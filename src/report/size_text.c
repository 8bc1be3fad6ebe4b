/*
 * size_text.c
 *	  Sizes in words, as the server itself writes them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "report/size_text.h"

/*
 * A number of bytes as pg_size_pretty shows it, in the current memory context.
 */
char *
plh_size_text(int64 bytes)
{
	return text_to_cstring(DatumGetTextPP(DirectFunctionCall1(pg_size_pretty,
															  Int64GetDatum(bytes))));
}
