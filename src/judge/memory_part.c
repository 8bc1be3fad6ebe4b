/*
 * memory_part.c
 *	  The parts of the memory that a control group, or the machine, uses: a list, and their words.
 */
#include "postgres.h"

#include "judge/memory_part.h"

PlhMemoryPart *
plh_memory_part_put(List **parts, PlhMemoryPartId id, const PlhMemoryPart *whole, int64 bytes)
{
	PlhMemoryPart *part = palloc0(sizeof(PlhMemoryPart));

	part->id = id;
	part->number = list_length(*parts) + 1;
	part->part_of = whole == NULL ? 0 : whole->number;
	part->level = whole == NULL ? 0 : whole->level + 1;
	part->bytes = bytes;
	*parts = lappend(*parts, part);
	return part;
}

void
plh_memory_part_put_some(List **parts, PlhMemoryPartId id, const PlhMemoryPart *whole, int64 bytes)
{
	if (bytes != 0)
		plh_memory_part_put(parts, id, whole, bytes);
}

/* What the parts of a whole are together. */
static int64
sum_of(const List *parts, const PlhMemoryPart *whole)
{
	int64		sum = 0;
	ListCell   *cell;

	foreach(cell, parts)
	{
		const PlhMemoryPart *part = lfirst(cell);

		if (part->part_of == whole->number)
			sum += part->bytes;
	}
	return sum;
}

void
plh_memory_part_put_rest(List **parts, const PlhMemoryPart *whole, PlhMemoryPartId more,
						 PlhMemoryPartId less)
{
	int64		rest = whole->bytes - sum_of(*parts, whole);

	plh_memory_part_put_some(parts, rest >= 0 ? more : less, whole, rest);
}
