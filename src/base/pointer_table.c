/*
 * pointer_table.c
 *	  A hash table from pointers to entries of a fixed size that never move.
 *
 * Invariant: every index below high_entries is either in exactly one chain (its pointer is not
 * NULL) or on the free list (its pointer is NULL).
 */
#include "postgres.h"

#include "base/page_layout.h"
#include "base/pointer_table.h"

/*
 * Define an empty table of at most "max_entries" entries.  The table takes memory as it needs it.
 */
void
plh_pointer_table_init(PlhPointerTable *table, uint32 entry_bytes, uint32 max_entries)
{
	memset(table, 0, sizeof(*table));
	table->entry_bytes = entry_bytes;
	table->max_entries = max_entries;
	table->free_entry = PLH_NO_ENTRY;
}

static pg_noinline bool
start_table(PlhPointerTable *table)
{
	Assert(table->entry_bytes >= sizeof(PlhPointerEntry));
	Assert(table->max_entries < PLH_NO_ENTRY);
	return plh_private_memory_reserve(&table->entry_region, (Size) table->entry_bytes *
									  table->max_entries) &&
		plh_hash_buckets_begin(&table->buckets, table->max_entries, PLH_NO_ENTRY);
}

/* What the buckets ask of an entry. */
static uint32 *
link_of_entry(const void *table, uint32 index, uint32 *hash)
{
	PlhPointerEntry *entry = plh_pointer_table_entry(table, index);

	*hash = plh_pointer_table_hash(entry->pointer);
	return &entry->next;
}

/* An index that was never used, or PLH_NO_ENTRY if the table is full or there is no memory. */
static pg_noinline uint32
add_entry(PlhPointerTable *table)
{
	uint32		index = table->high_entries;

	if (index >= table->max_entries ||
		!plh_private_memory_commit(&table->entry_region, ((Size) index + 1) * table->entry_bytes))
		return PLH_NO_ENTRY;

	table->high_entries++;
	return index;
}

static inline uint32
take_entry(PlhPointerTable *table)
{
	uint32		index = table->free_entry;
	PlhPointerEntry *entry;

	if (index == PLH_NO_ENTRY)
		return add_entry(table);
	entry = plh_pointer_table_entry(table, index);
	Assert(entry->pointer == NULL);
	table->free_entry = entry->next;
	return index;
}

/*
 * Add an entry for "pointer", which must not be in the table.  Returns the entry, of which only the
 * PlhPointerEntry is set, or NULL if the table is full or there is no memory.
 */
void *
plh_pointer_table_insert(PlhPointerTable *table, const void *pointer)
{
	PlhPointerEntry *entry;
	uint32	   *head;
	uint32		index;

	Assert(pointer != NULL);
	Assert(plh_pointer_table_find(table, pointer) == NULL);
	if (table->buckets.count == 0 && !start_table(table))
		return NULL;
	index = take_entry(table);
	if (index == PLH_NO_ENTRY)
		return NULL;
	plh_hash_buckets_expect(&table->buckets, table->used_entries, link_of_entry, table);

	entry = plh_pointer_table_entry(table, index);
	head = plh_pointer_table_bucket(table, pointer);
	entry->pointer = pointer;
	entry->next = *head;
	*head = index;
	table->used_entries++;
	Assert(table->used_entries <= table->high_entries);
	return entry;
}

PLH_EVERY_PROCESS void
plh_pointer_table_discard(PlhPointerTable *table)
{
	if (table->entry_region.base == NULL && table->buckets.region.base == NULL)
		return;					/* it is as plh_pointer_table_init left it */
	plh_private_memory_discard(&table->entry_region);
	plh_hash_buckets_discard(&table->buckets);
	plh_pointer_table_init(table, table->entry_bytes, table->max_entries);
}
