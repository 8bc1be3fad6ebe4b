/*
 * symbol_table.c
 *	  Holds the symbols that a dump brings along, so that its stacks can be
 *	  read where its modules are not installed.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "reader/symbol_table.h"

struct PlhSymbolTable
{
	HTAB	   *entries;
	MemoryContext memory;
};

/* A frame, and the functions that it is in, innermost first. */
typedef struct Entry
{
	PlhFrame	frame;			/* key */
	int			count;
	PlhSourceFrame *sources;
} Entry;

/*
 * Create an empty table in the current memory context.
 */
PlhSymbolTable *
plh_symbol_table_create(void)
{
	PlhSymbolTable *table = palloc(sizeof(PlhSymbolTable));
	HASHCTL		control = {
		.keysize = sizeof(PlhFrame),
		.entrysize = sizeof(Entry),
		.hcxt = CurrentMemoryContext
	};

	table->memory = CurrentMemoryContext;
	table->entries = hash_create("pg_leakhunt symbols", 1024, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return table;
}

/*
 * Add a function to those that a frame is in.  The innermost is added first;
 * those beyond PLH_MAX_INLINED are dropped.
 */
void
plh_symbol_table_add(PlhSymbolTable *table, PlhFrame frame,
					 const PlhSourceFrame *source)
{
	MemoryContext caller_context = MemoryContextSwitchTo(table->memory);
	PlhSourceFrame *copy;
	bool		found;
	Entry	   *entry = hash_search(table->entries, &frame, HASH_ENTER, &found);

	if (!found)
	{
		entry->count = 0;
		entry->sources = palloc(sizeof(PlhSourceFrame));
	}
	if (entry->count < PLH_MAX_INLINED)
	{
		/* the room is always a power of two: when it is full, double it */
		if (entry->count > 0 && (entry->count & (entry->count - 1)) == 0)
			entry->sources = repalloc(entry->sources, sizeof(PlhSourceFrame) *
									  2 * entry->count);
		copy = &entry->sources[entry->count++];
		*copy = *source;
		copy->function = pstrdup(source->function);
		copy->file = source->file != NULL ? pstrdup(source->file) : NULL;
	}
	MemoryContextSwitchTo(caller_context);
}

/*
 * Find the functions that a frame is in, innermost first.  Returns NULL, and a
 * count of 0, if none is known.
 */
const PlhSourceFrame *
plh_symbol_table_find(const PlhSymbolTable *table, PlhFrame frame, int *count)
{
	Entry	   *entry = hash_search(table->entries, &frame, HASH_FIND, NULL);

	*count = entry != NULL ? entry->count : 0;
	return entry != NULL ? entry->sources : NULL;
}
