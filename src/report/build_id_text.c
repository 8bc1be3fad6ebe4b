/*
 * build_id_text.c
 *	  Build-ids as people and tools read them.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "report/build_id_text.h"

/*
 * The build-id of a module in hexadecimal digits, in the current memory
 * context; empty where the module has none.
 */
char *
plh_build_id_text(const PlhModuleRecord *module)
{
	char	   *text = palloc0(2 * module->build_id_bytes + 1);

	hex_encode((const char *) module->build_id, module->build_id_bytes, text);
	return text;
}
