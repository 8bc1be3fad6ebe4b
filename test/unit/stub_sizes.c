/*
 * stub_sizes.c
 *	  Sizes as text, without the server's pg_size_pretty.
 */
#include "postgres.h"

#include "report/size_text.h"

char *
plh_size_text(int64 bytes)
{
	return psprintf(INT64_FORMAT " bytes", bytes);
}
