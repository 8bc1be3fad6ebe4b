/*
 * dwarf_units.h
 *	  The compilation units of a module's debug information, and their functions.
 *
 * Only debug_info.c calls this, and its rules hold here, too.
 */
#ifndef PLH_DWARF_UNITS_H
#define PLH_DWARF_UNITS_H

#include "symbols/debug_file.h"

/* A contiguous range of a function's code; a function may have several. */
typedef struct PlhFunctionRange
{
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	Dwarf_Die	function;		/* its entry */
} PlhFunctionRange;

/* A compilation unit, and the ranges of its functions. */
typedef struct PlhDwarfUnit
{
	Dwarf_Off	offset;			/* of the entry that the address led to */
	Dwarf_Die	lines;			/* that entry, which has the line table */
	Dwarf_Die	entry;			/* the one with the functions: in a .dwo file
								 * where the debug information is split */
	PlhFunctionRange *ranges;	/* sorted by start */
	int			range_count;
	int			range_room;
	int			entries_left;	/* to visit, of MAX_UNIT_ENTRIES */
	struct PlhDwarfUnit *next;
} PlhDwarfUnit;

extern PlhDwarfUnit *plh_dwarf_units_find(PlhDwarfUnit **units, Dwfl_Module *module,
										  Dwarf_Addr address, Dwarf_Addr *bias);
extern const PlhFunctionRange *plh_dwarf_units_range(const PlhDwarfUnit *unit,
													 Dwarf_Addr address);
extern int	plh_dwarf_units_nest(const PlhFunctionRange *range, Dwarf_Addr address,
								 Dwarf_Die *nest);
extern void plh_dwarf_units_free(PlhDwarfUnit **units);

#endif							/* PLH_DWARF_UNITS_H */
