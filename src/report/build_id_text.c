/*
 * build_id_text.c
 *	  Writes build-ids in hexadecimal digits.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "report/build_id_text.h"

/*
 * Write the build-id of a module, as readelf and pprof do.  The text is empty
 * if the module has none.
 */
char *
plh_build_id_text(const PlhModuleRecord *module)
{
	char	   *text = palloc0(2 * module->build_id_bytes + 1);

	hex_encode((const char *) module->build_id, module->build_id_bytes, text);
	return text;
}
