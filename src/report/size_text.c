/*
 * size_text.c
 *	  Writes sizes with a unit, as pg_size_pretty does.
 */
#include "postgres.h"

#include "base/size_units.h"
#include "report/size_text.h"

/*
 * Write a size, negative ones included.
 */
char *
plh_size_text(int64 bytes)
{
	return pstrdup(plh_size_units(bytes).text);
}
