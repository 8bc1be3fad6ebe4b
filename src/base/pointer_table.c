/*
 * pointer_table.c
 *	  A hash table from pointers to entries of a fixed size that never move.
 *
 * This code runs inside palloc.
 *
 * Invariants: bucket b of a table with n buckets, where 2^k <= n < 2^(k+1),
 * holds the entries whose hash modulo 2^(k+1) is b or, if that is >= n, whose
 * hash modulo 2^k is b.  Every index below high_entries is either in exactly
 * one chain (its pointer is not NULL) or on the free list (its pointer is
 * NULL).
 */
#include "postgres.h"

#include "base/page_layout.h"
#include "base/pointer_table.h"

/* A table starts with this many buckets. */
#define FIRST_BUCKETS 64

/*
 * Define an empty table of at most "max_entries" entries.  The table takes
 * memory as it needs it.
 */
void
plh_pointer_table_init(PlhPointerTable *table, uint32 entry_bytes,
					   uint32 max_entries)
{
	memset(table, 0, sizeof(*table));
	table->entry_bytes = entry_bytes;
	table->max_entries = max_entries;
	table->free_entry = PLH_NO_ENTRY;
}

/* Reserve address space and set up the first buckets. */
static pg_noinline bool
start_table(PlhPointerTable *table)
{
	Size		max_buckets = Max(table->max_entries, FIRST_BUCKETS);

	Assert(table->entry_bytes >= sizeof(PlhPointerEntry));
	Assert(table->max_entries < PLH_NO_ENTRY);
	if (!plh_private_memory_reserve(&table->entry_region,
									(Size) table->entry_bytes *
									table->max_entries) ||
		!plh_private_memory_reserve(&table->bucket_region,
									sizeof(uint32) * max_buckets) ||
		!plh_private_memory_commit(&table->bucket_region,
								   sizeof(uint32) * FIRST_BUCKETS))
		return false;

	memset(table->bucket_region.base, 0xFF, sizeof(uint32) * FIRST_BUCKETS);
	table->buckets = FIRST_BUCKETS;
	table->low_buckets = FIRST_BUCKETS;
	return true;
}

/*
 * Add one bucket, and move the entries that belong there to it.  If there is
 * no memory for the bucket, the chains get longer, and nothing else happens.
 */
static pg_noinline void
split_bucket(PlhPointerTable *table)
{
	uint32		low = table->low_buckets;
	uint32		new_bucket = table->buckets;
	uint32	   *link;
	uint32	   *heads;

	if (!plh_private_memory_commit(&table->bucket_region,
								   sizeof(uint32) * ((Size) new_bucket + 1)))
		return;

	heads = (uint32 *) table->bucket_region.base;
	heads[new_bucket] = PLH_NO_ENTRY;
	table->buckets++;
	if (table->buckets == 2 * low)
		table->low_buckets = table->buckets;

	link = &heads[new_bucket - low];
	while (*link != PLH_NO_ENTRY)
	{
		uint32		index = *link;
		PlhPointerEntry *entry = plh_pointer_table_entry(table, index);
		uint32	   *bucket = plh_pointer_table_bucket(table, entry->pointer);

		Assert(bucket == &heads[new_bucket] || bucket == &heads[new_bucket - low]);
		if (bucket == &heads[new_bucket])
		{
			*link = entry->next;
			entry->next = heads[new_bucket];
			heads[new_bucket] = index;
		}
		else
			link = &entry->next;
	}
}

/*
 * Returns the index of an entry that was never used, or PLH_NO_ENTRY if the table is
 * full or there is no memory.
 */
static pg_noinline uint32
add_entry(PlhPointerTable *table)
{
	uint32		index = table->high_entries;

	if (index >= table->max_entries ||
		!plh_private_memory_commit(&table->entry_region,
								   ((Size) index + 1) * table->entry_bytes))
		return PLH_NO_ENTRY;

	table->high_entries++;
	return index;
}

/* Returns the index of an unused entry, or PLH_NO_ENTRY. */
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
 * Add an entry for "pointer", which must not be in the table.  Returns the
 * entry, of which only the PlhPointerEntry is set, or NULL if the table is
 * full or there is no memory.
 */
void *
plh_pointer_table_insert(PlhPointerTable *table, const void *pointer)
{
	PlhPointerEntry *entry;
	uint32	   *head;
	uint32		index;

	Assert(pointer != NULL);
	Assert(plh_pointer_table_find(table, pointer) == NULL);
	if (table->buckets == 0 && !start_table(table))
		return NULL;
	index = take_entry(table);
	if (index == PLH_NO_ENTRY)
		return NULL;
	if (table->used_entries >= table->buckets &&
		table->buckets < table->max_entries)
		split_bucket(table);

	entry = plh_pointer_table_entry(table, index);
	head = plh_pointer_table_bucket(table, pointer);
	entry->pointer = pointer;
	entry->next = *head;
	*head = index;
	table->used_entries++;
	Assert(table->used_entries <= table->high_entries);
	return entry;
}

/*
 * Empty the table and give its memory back.
 */
PLH_EVERY_PROCESS void
plh_pointer_table_discard(PlhPointerTable *table)
{
	if (table->entry_region.base == NULL && table->bucket_region.base == NULL)
		return;					/* it is as plh_pointer_table_init left it */
	plh_private_memory_discard(&table->entry_region);
	plh_private_memory_discard(&table->bucket_region);
	plh_pointer_table_init(table, table->entry_bytes, table->max_entries);
}
