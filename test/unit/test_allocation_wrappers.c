/*
 * test_allocation_wrappers.c
 *	  The lists of known functions.
 */
#include "postgres.h"

#include "profile/profile_layout.h"
#include "stack/allocation_wrappers.h"
#include "unit_tests.h"

/* How many functions have that flag? */
static int
count_functions(int flag)
{
	int			place = 0;
	int			count = 0;

	while (plh_allocation_wrappers_next(&place, flag) != NULL)
		count++;
	return count;
}

/* Is each function with that flag found by its name, with both flags? */
static bool
are_found(int flag, int other_flag)
{
	const char *function;
	int			place = 0;

	while ((function = plh_allocation_wrappers_next(&place, flag)) != NULL)
	{
		if (!plh_allocation_wrappers_has(function, flag) ||
			!plh_allocation_wrappers_has(function, other_flag))
			return false;
	}
	return true;
}

/*
 * Is each function found with the flags that it has, and no others?  So the lists are in
 * the order that bsearch needs, and none has a name of another one.
 */
static bool
are_sorted(void)
{
	for (int flag = 1; flag <= PLH_FUNCTION_PRUNED; flag <<= 1)
	{
		const char *function;
		int			place = 0;
		int			found = 0;

		while ((function = plh_allocation_wrappers_next(&place, ~0)) != NULL)
			found += plh_allocation_wrappers_has(function, flag);
		if (found != count_functions(flag) || !are_found(flag, flag))
			return false;
	}
	return true;
}

/* Does a name stand in two of the lists, or twice in one? */
static bool
has_name_twice(void)
{
	const char *function;
	const char *other;
	int			place = 0;

	while ((function = plh_allocation_wrappers_next(&place, ~0)) != NULL)
	{
		int			next = place;

		while ((other = plh_allocation_wrappers_next(&next, ~0)) != NULL)
		{
			if (strcmp(function, other) == 0)
				return true;
		}
	}
	return false;
}

/* Is a return address one that a uretprobe has put there? */
static bool
is_probed(uint64 return_address)
{
	return PLH_FRAME_IS_PROBED(PLH_FRAME(0, return_address - 1));
}

/* The kernel's page for uretprobes is the last one that a process could have. */
static void
test_probed_frames(void)
{
	ok(is_probed(UINT64CONST(0x7fffffffe000)), "a uretprobe of x86-64 is known");
	ok(is_probed(UINT64CONST(0xffffffffffe000)), "a uretprobe of x86-64 with pages of five levels is known");
	ok(is_probed(UINT64CONST(0xfffffffff000)) && is_probed(UINT64CONST(0xffffffff0000)),
	   "a uretprobe of aarch64 is known, with pages of 4 and 64 kB");
	ok(!is_probed(UINT64CONST(0x7ffff7ffd000)) && !is_probed(UINT64CONST(0x7fa6af12a127)) &&
	   !is_probed(5), "compiled code is none of a uretprobe");
	ok(!PLH_FRAME_IS_PROBED(PLH_FRAME(1, UINT64CONST(0x7fffffffdfff))),
	   "code of a binary is none of a uretprobe");
	ok(plh_allocation_wrappers_kind(PLH_PROBED_FUNCTION) == PLH_FRAME_WRAPPER,
	   "a function behind a uretprobe is not the call site");
}

/* Frames are letters: a wrapper, an unnamed one, a function. */
static PlhFrameKind
kind_of_letter(const void *frames, uint32 index)
{
	char		letter = ((const char *) frames)[index];

	return letter == 'w' ? PLH_FRAME_WRAPPER :
		letter == 'u' ? PLH_FRAME_UNNAMED : PLH_FRAME_FUNCTION;
}

/* Returns the call site of such frames. */
static uint32
call_site_of(const char *letters)
{
	return plh_allocation_wrappers_call_site(letters, strlen(letters), kind_of_letter);
}

static void
test_call_sites(void)
{
	ok(call_site_of("ff") == 0 && call_site_of("wwff") == 2,
	   "the call site is the innermost function that is no wrapper");
	ok(call_site_of("uwf") == 2 && call_site_of("wuwuwuf") == 5,
	   "an unnamed function within a wrapper belongs to it");
	ok(call_site_of("uuwf") == 0 && call_site_of("wuf") == 1 && call_site_of("wu") == 1,
	   "any other unnamed function is a call site");
	ok(call_site_of("") == 0 && call_site_of("w") == 0 && call_site_of("uw") == 0,
	   "a stack of wrappers has its innermost frame");
}

void
test_allocation_wrappers(void)
{
	int			allocators = count_functions(PLH_FUNCTION_ALLOCATOR);

	ok(are_sorted(), "known functions are sorted");
	ok(!has_name_twice(), "each known function stands in one list");
	ok(allocators > 0 && allocators <= PLH_MAX_ALLOCATORS,
	   "there is room for all allocators");
	ok(are_found(PLH_FUNCTION_ALLOCATOR, PLH_FUNCTION_WRAPPER),
	   "allocators are found, and are wrappers");
	ok(are_found(PLH_FUNCTION_WRAPPER, PLH_FUNCTION_WRAPPER), "wrappers are found");
	ok(are_found(PLH_FUNCTION_BOUNDED_CACHE, PLH_FUNCTION_BOUNDED_CACHE),
	   "bounded caches are found");
	ok(!plh_allocation_wrappers_has("pstrdup", PLH_FUNCTION_ALLOCATOR),
	   "a wrapper on top of palloc is no allocator");
	ok(plh_allocation_wrappers_has("Perl_safesysmalloc", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("_Znwm", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("operator new[](unsigned long)", PLH_FUNCTION_WRAPPER) &&
	   !plh_allocation_wrappers_has("_Znwm", PLH_FUNCTION_ALLOCATOR),
	   "what wraps malloc is a wrapper, and no allocator of the server's");
	ok(plh_allocation_wrappers_has("quote_literal_cstr", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("copyParamList", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("heap_form_tuple", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("tuplestore_putvalues", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("pg_detoast_datum", PLH_FUNCTION_WRAPPER),
	   "what returns its memory to the caller is a wrapper");
	ok(plh_allocation_wrappers_has("_copyQuery", PLH_FUNCTION_WRAPPER) &&
	   plh_allocation_wrappers_has("_readConst", PLH_FUNCTION_WRAPPER) &&
	   !plh_allocation_wrappers_has("_copyQuery", PLH_FUNCTION_ALLOCATOR) &&
	   !plh_allocation_wrappers_has("_copy", PLH_FUNCTION_WRAPPER) &&
	   !plh_allocation_wrappers_has("_copyright", PLH_FUNCTION_WRAPPER),
	   "a function that copies or reads nodes of a kind is a wrapper");
	ok(!plh_allocation_wrappers_has("array_set_element", PLH_FUNCTION_WRAPPER) &&
	   !plh_allocation_wrappers_has("ExecHashTableInsert", PLH_FUNCTION_WRAPPER),
	   "what SQL calls, and what a node of a plan keeps, is the call site");
	ok(!plh_allocation_wrappers_has("lookup_type_cache", PLH_FUNCTION_WRAPPER),
	   "a cache is no wrapper");
	ok(!plh_allocation_wrappers_has("", PLH_FUNCTION_WRAPPER) &&
	   !plh_allocation_wrappers_has("zzz", PLH_FUNCTION_WRAPPER) &&
	   !plh_allocation_wrappers_has(NULL, PLH_FUNCTION_WRAPPER),
	   "other names have no flag");
	test_probed_frames();
	test_call_sites();
}
