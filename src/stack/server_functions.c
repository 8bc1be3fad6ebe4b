/*
 * server_functions.c
 *	  Where functions of the server lie, by its dynamic symbols.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "base/fork.h"
#include "stack/allocation_wrappers.h"
#include "stack/server_functions.h"

/* The wrappers among them; room for all that the tables have. */
#define MAX_WRAPPERS 1024

static PLH_SAME_IN_CHILD PlhCodeRange wrappers[MAX_WRAPPERS];	/* by address */
static PLH_SAME_IN_CHILD int wrapper_count;

/*
 * Returns false if there is no function of that name.
 */
bool
plh_server_functions_find(const char *name, PlhCodeRange *range)
{
	void	   *address = dlsym(RTLD_DEFAULT, name);
	Dl_info		info;
	const Elf64_Sym *symbol = NULL;

	if (address == NULL ||
		dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 ||
		symbol == NULL)
		return false;
	range->start = (uintptr_t) address;
	range->end = (uintptr_t) address + symbol->st_size;

	return true;
}

/* qsort comparator, by address. */
static int
compare_ranges(const void *a, const void *b)
{
	uintptr_t	one = ((const PlhCodeRange *) a)->start;
	uintptr_t	other = ((const PlhCodeRange *) b)->start;

	return one < other ? -1 : one > other;
}

/*
 * Find the functions that allocate for their callers, unless that is done.
 */
void
plh_server_functions_find_wrappers(void)
{
	const char *function;
	int			place = 0;

	if (wrapper_count > 0)
		return;
	while (wrapper_count < MAX_WRAPPERS &&
		   (function = plh_allocation_wrappers_next(&place, PLH_FUNCTION_WRAPPER)) != NULL)
		wrapper_count += plh_server_functions_find(function, &wrappers[wrapper_count]);
	qsort(wrappers, wrapper_count, sizeof(PlhCodeRange), compare_ranges);
}

/* bsearch comparator: an address, and the function that may have it. */
static int
compare_address(const void *key, const void *element)
{
	uintptr_t	address = *(const uintptr_t *) key;
	const PlhCodeRange *range = element;

	return plh_code_range_has(range, address) ? 0 : address < range->start ? -1 : 1;
}

bool
plh_server_functions_is_wrapper(uintptr_t address)
{
	return bsearch(&address, wrappers, wrapper_count, sizeof(PlhCodeRange),
				   compare_address) != NULL;
}
