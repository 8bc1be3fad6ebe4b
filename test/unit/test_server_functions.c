/*
 * test_server_functions.c
 *	  The table of the server's functions.
 */
#include "postgres.h"

#include "base/server_functions.h"
#include "unit_tests.h"

/* How many functions have that flag? */
static int
count_functions(int flag)
{
	const PlhServerFunction *function = NULL;
	int			count = 0;

	while ((function = plh_server_functions_next(function, flag)) != NULL)
		count++;
	return count;
}

/* Is each function with that flag found by its name, with both flags? */
static bool
are_found(int flag, int other_flag)
{
	const PlhServerFunction *function = NULL;

	while ((function = plh_server_functions_next(function, flag)) != NULL)
	{
		if (!plh_server_functions_has(function->name, flag) ||
			!plh_server_functions_has(function->name, other_flag))
			return false;
	}
	return true;
}

void
test_server_functions(void)
{
	int			allocators = count_functions(PLH_SERVER_ALLOCATOR);

	ok(plh_server_functions_are_sorted(), "functions of the server are sorted");
	ok(allocators > 0 && allocators <= PLH_SERVER_MAX_ALLOCATORS,
	   "there is room for all allocators");
	ok(are_found(PLH_SERVER_ALLOCATOR, PLH_SERVER_HELPER),
	   "allocators are found, and are helpers");
	ok(are_found(PLH_SERVER_HELPER, PLH_SERVER_HELPER), "helpers are found");
	ok(are_found(PLH_SERVER_BOUNDED_CACHE, PLH_SERVER_BOUNDED_CACHE),
	   "bounded caches are found");
	ok(!plh_server_functions_has("pstrdup", PLH_SERVER_ALLOCATOR),
	   "a helper on top of palloc is no allocator");
	ok(plh_server_functions_has("Perl_safesysmalloc", PLH_SERVER_HELPER) &&
	   plh_server_functions_has("_Znwm", PLH_SERVER_HELPER) &&
	   plh_server_functions_has("operator new[](unsigned long)", PLH_SERVER_HELPER) &&
	   !plh_server_functions_has("_Znwm", PLH_SERVER_ALLOCATOR),
	   "what wraps malloc is a helper, and no allocator of the server's");
	ok(!plh_server_functions_has("lookup_type_cache", PLH_SERVER_HELPER),
	   "a cache is no helper");
	ok(!plh_server_functions_has("", PLH_SERVER_HELPER) &&
	   !plh_server_functions_has("zzz", PLH_SERVER_HELPER) &&
	   !plh_server_functions_has(NULL, PLH_SERVER_HELPER),
	   "other names have no flag");
}
