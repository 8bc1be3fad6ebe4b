/*
 * dwarf_units.c
 *	  The compilation units of a module's debug information, and their functions.
 */
#include "postgres.h"

#include "profile/source_frame.h"
#include "symbols/dwarf_units.h"

/*
 * Entries of one unit that are visited, and the depth to which namespaces are:
 * the entries of a hostile file may form a loop.
 */
#define MAX_UNIT_ENTRIES 4000000
#define MAX_NESTING 64

#define FIRST_RANGE_ROOM 64

static int
compare_ranges(const void *left, const void *right)
{
	Dwarf_Addr	a = ((const PlhFunctionRange *) left)->start;
	Dwarf_Addr	b = ((const PlhFunctionRange *) right)->start;

	return a < b ? -1 : a > b;
}

/* Add the ranges of a function to its unit; if memory runs out, not all. */
static void
add_function(PlhDwarfUnit *unit, Dwarf_Die *function)
{
	Dwarf_Addr	base;
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	ptrdiff_t	offset = 0;

	while (unit->entries_left-- > 0 &&
		   (offset = plh_libdw.dwarf_ranges(function, offset, &base, &start,
											&end)) > 0)
	{
		if (unit->range_count == unit->range_room)
		{
			int			room = Max(FIRST_RANGE_ROOM, 2 * unit->range_room);
			PlhFunctionRange *larger = realloc(unit->ranges,
											   sizeof(PlhFunctionRange) * room);

			if (larger == NULL)
				return;
			unit->ranges = larger;
			unit->range_room = room;
		}
		unit->ranges[unit->range_count].start = start;
		unit->ranges[unit->range_count].end = end;
		unit->ranges[unit->range_count].function = *function;
		unit->range_count++;
	}
}

/* Add the functions below an entry, which is a unit or a namespace in it. */
static void
add_functions(PlhDwarfUnit *unit, Dwarf_Die *parent, int nesting)
{
	Dwarf_Die	entry;

	if (nesting > MAX_NESTING || plh_libdw.dwarf_child(parent, &entry) != 0)
		return;
	do
	{
		int			tag = plh_libdw.dwarf_tag(&entry);

		if (tag == DW_TAG_subprogram)
			add_function(unit, &entry);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			add_functions(unit, &entry, nesting + 1);
	} while (unit->entries_left-- > 0 &&
			 plh_libdw.dwarf_siblingof(&entry, &entry) == 0);
}

/*
 * The entry that has the functions of a unit.  Of a unit whose debug information is
 * split (-gsplit-dwarf) the binary has only a skeleton; libdw finds the rest in the
 * .dwo file that the skeleton names.  Where that is gone, there are no functions.
 */
static Dwarf_Die
functions_entry(Dwarf_Die *unit_entry)
{
	uint8_t		type;
	Dwarf_Die	split;

	if (plh_libdw.dwarf_cu_info(unit_entry->cu, NULL, &type, NULL, &split, NULL,
								NULL, NULL) == 0 &&
		type == DW_UT_skeleton && split.addr != NULL)
		return split;
	return *unit_entry;
}

/*
 * Find a unit among those that were read, or read it.  Returns NULL if memory
 * runs out.
 */
static PlhDwarfUnit *
find_unit(PlhDwarfUnit **units, Dwarf_Die *unit_entry)
{
	Dwarf_Off	offset = plh_libdw.dwarf_dieoffset(unit_entry);
	PlhDwarfUnit *unit = *units;

	while (unit != NULL && unit->offset != offset)
		unit = unit->next;
	if (unit != NULL)
		return unit;

	unit = calloc(1, sizeof(PlhDwarfUnit));
	if (unit == NULL)
		return NULL;
	unit->offset = offset;
	unit->lines = *unit_entry;
	unit->entry = functions_entry(unit_entry);
	unit->entries_left = MAX_UNIT_ENTRIES;
	add_functions(unit, &unit->entry, 0);
	if (unit->range_count > 0)
		qsort(unit->ranges, unit->range_count, sizeof(PlhFunctionRange),
			  compare_ranges);
	unit->next = *units;
	*units = unit;
	return unit;
}

/*
 * Find the range that has an address, by binary search.  Returns NULL if none.
 */
const PlhFunctionRange *
plh_dwarf_units_range(const PlhDwarfUnit *unit, Dwarf_Addr address)
{
	int			low = 0;
	int			high = unit->range_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (unit->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= unit->ranges[low - 1].end)
		return NULL;
	return &unit->ranges[low - 1];
}

/*
 * The unit that has an address of a module, from which *bias is to be taken away; NULL if
 * there is none.  Before, *bias is that of the module.  Compilers that are made of LLVM
 * write no table of the units' addresses: there those that were read before are asked, and
 * then all others.
 */
PlhDwarfUnit *
plh_dwarf_units_find(PlhDwarfUnit **units, Dwfl_Module *module, Dwarf_Addr address,
					 Dwarf_Addr *bias)
{
	Dwarf_Addr	module_bias = *bias;
	Dwarf_Die  *entry = plh_libdw.dwfl_module_addrdie(module, address, bias);

	if (entry != NULL)
		return find_unit(units, entry);
	*bias = module_bias;
	for (PlhDwarfUnit *unit = *units; unit != NULL; unit = unit->next)
		if (plh_dwarf_units_range(unit, address - *bias) != NULL)
			return unit;
	while ((entry = plh_libdw.dwfl_module_nextcu(module, entry, bias)) != NULL)
		if (plh_libdw.dwarf_haspc(entry, address - *bias) > 0)
			return find_unit(units, entry);
	return NULL;
}

/*
 * Collect the functions around an address, the outermost first: the function
 * that the range belongs to, and those that the compiler has inlined there.
 * Returns how many there are.
 */
int
plh_dwarf_units_nest(const PlhFunctionRange *range, Dwarf_Addr address, Dwarf_Die *nest)
{
	int			count = 0;
	int			entries_left = MAX_UNIT_ENTRIES;
	Dwarf_Die	entry;
	Dwarf_Die	scope = range->function;

	nest[count++] = scope;

	/*
	 * go down into each entry that has the address, nameless blocks included
	 */
	while (plh_libdw.dwarf_child(&scope, &entry) == 0)
	{
		bool		found = false;

		do
		{
			int			tag = plh_libdw.dwarf_tag(&entry);

			found = (tag == DW_TAG_inlined_subroutine ||
					 tag == DW_TAG_lexical_block ||
					 tag == DW_TAG_subprogram) &&
				plh_libdw.dwarf_haspc(&entry, address) > 0;
			if (found && tag != DW_TAG_lexical_block)
			{
				if (count == PLH_MAX_INLINED)
					return count;
				nest[count++] = entry;
			}
		} while (!found && entries_left-- > 0 &&
				 plh_libdw.dwarf_siblingof(&entry, &entry) == 0);
		if (!found)
			break;
		scope = entry;
	}
	return count;
}

/*
 * Free what was read.
 */
void
plh_dwarf_units_free(PlhDwarfUnit **units)
{
	while (*units != NULL)
	{
		PlhDwarfUnit *next = (*units)->next;

		free((*units)->ranges);
		free(*units);
		*units = next;
	}
}
