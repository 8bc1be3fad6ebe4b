/*
 * allocation_wrappers.c
 *	  The functions of the server, and of libraries, that mean something in a
 *	  stack, by name, and which frame of a stack is the call site.
 *
 * Each function stands in one of the tables, so that a new way to call palloc is added
 * in one place.  Not every supported version has all of the functions.
 *
 * Allocation wrappers that are built on top of the allocator (pstrdup, lappend,
 * ...) are no allocators: they stay in the stack, and the first frame that is no
 * wrapper is the call site.
 */
#include "postgres.h"

#include "stack/allocation_wrappers.h"
#include "stack/allocator_names.h"
#include "stack/cache_names.h"
#include "stack/wrapper_names.h"

/* No function stands in two of them. */
static const struct
{
	const PlhKnownFunction *functions;
	int			count;
}			tables[] = {
	{allocator_names, lengthof(allocator_names)},
	{wrapper_names, lengthof(wrapper_names)},
	{cache_names, lengthof(cache_names)}
};

/*
 * The functions that copy, read and write one kind of nodes each, such as _copyQuery:
 * there are hundreds, and they begin so, with the node's name next.
 */
static const char *const node_prefixes[] = {"_copy", "_out", "_read"};

/* Is it one of the functions that handle one kind of nodes? */
static bool
is_node_wrapper(const char *name)
{
	if (name[0] != '_')
		return false;
	for (int i = 0; i < lengthof(node_prefixes); i++)
	{
		size_t		length = strlen(node_prefixes[i]);

		if (strncmp(name, node_prefixes[i], length) == 0)
			return name[length] >= 'A' && name[length] <= 'Z';
	}
	return false;
}

/* This bsearch callback compares a name with that of an element. */
static int
compare_name(const void *key, const void *element)
{
	return strcmp((const char *) key,
				  ((const PlhKnownFunction *) element)->name);
}

/*
 * Does the function of that name have the flag?  NULL stands for a function
 * whose name is not known, which has no flag.
 */
bool
plh_allocation_wrappers_has(const char *name, int flag)
{
	if (name == NULL)
		return false;
	if (is_node_wrapper(name))
		return (flag & PLH_FUNCTION_WRAPPER) != 0;
	for (int i = 0; i < lengthof(tables); i++)
	{
		const PlhKnownFunction *function =
			bsearch(name, tables[i].functions, tables[i].count,
					sizeof(PlhKnownFunction), compare_name);

		if (function != NULL)
			return (function->flags & flag) != 0;
	}
	return false;
}

/*
 * Returns the next function with that flag, and moves "place" behind it; NULL after the
 * last.  The first "place" is 0.
 */
const PlhKnownFunction *
plh_allocation_wrappers_next(int *place, int flag)
{
	int			start = 0;

	for (int i = 0; i < lengthof(tables); i++)
	{
		for (; *place < start + tables[i].count; ++*place)
		{
			const PlhKnownFunction *function = &tables[i].functions[*place - start];

			if ((function->flags & flag) != 0)
			{
				++*place;
				return function;
			}
		}
		start += tables[i].count;
	}
	return NULL;
}

/*
 * The kind of the frame in the function of that name; NULL: it has none.
 */
PlhFrameKind
plh_allocation_wrappers_kind(const char *function)
{
	if (function == NULL)
		return PLH_FRAME_UNNAMED;
	return plh_allocation_wrappers_has(function, PLH_FUNCTION_WRAPPER) ?
		PLH_FRAME_WRAPPER : PLH_FRAME_FUNCTION;
}

/*
 * Returns the index of the call site: the innermost frame that allocates for
 * itself; 0 if there is none.  A frame without a name just inside an allocation
 * wrapper is a static function of the wrapper's own.
 */
uint32
plh_allocation_wrappers_call_site(const void *frames, uint32 count, PlhFrameKindOf kind_of)
{
	uint32		site = 0;

	while (site < count)
	{
		PlhFrameKind kind = kind_of(frames, site);

		if (kind == PLH_FRAME_WRAPPER)
			site++;
		else if (kind == PLH_FRAME_UNNAMED && site + 1 < count &&
				 kind_of(frames, site + 1) == PLH_FRAME_WRAPPER)
			site += 2;
		else
			return site;
	}
	return 0;
}
