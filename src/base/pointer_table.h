/*
 * pointer_table.h
 *	  A hash table from pointers to entries of a fixed size that never move.
 *
 * The table is written by hand because lib/simplehash.h rehashes everything within one insertion
 * and moves entries, both of which are wrong here.  Entries can also be reached by an index, which
 * takes half the room of a pointer.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock, and are not
 * reentrant.  plh_pointer_table_init comes first; a table takes no memory before the first
 * insertion.
 */
#pragma once

#include "base/hash_buckets.h"

/* Index that stands for "no entry". */
#define PLH_NO_ENTRY ((uint32) 0xFFFFFFFF)

/* Every entry begins with this struct. */
typedef struct PlhPointerEntry
{
	const void *pointer;		/* the key; NULL in an unused entry */
	uint32		next;			/* next entry of the bucket or free list */
	uint32		user;			/* belongs to the user of the table */
} PlhPointerEntry;

typedef struct PlhPointerTable
{
	uint32		entry_bytes;	/* size of one entry */
	uint32		max_entries;
	uint32		used_entries;	/* now in the table */
	uint32		high_entries;	/* ever used: all indexes lie below */
	uint32		free_entry;		/* head of the free list */
	PlhRegion	entry_region;
	PlhHashBuckets buckets;		/* of indexes */
} PlhPointerTable;

extern void plh_pointer_table_init(PlhPointerTable *table, uint32 entry_bytes, uint32 max_entries);
extern void *plh_pointer_table_insert(PlhPointerTable *table, const void *pointer);
extern void plh_pointer_table_discard(PlhPointerTable *table);

/* Returns the entry of an index, which an insertion must have used. */
static inline void *
plh_pointer_table_entry(const PlhPointerTable *table, uint32 index)
{
	Assert(index < table->high_entries);
	return table->entry_region.base + (Size) index * table->entry_bytes;
}

/*
 * Returns a hash of a pointer, whose high bits are the good ones.  The low bits of a chunk's
 * address are 0, and the multiplication spreads the others.
 */
static inline uint64
plh_pointer_hash(const void *pointer)
{
	return (uint64) (uintptr_t) pointer * UINT64CONST(0x9E3779B97F4A7C15);
}

/*
 * Returns what decides about the bucket of a pointer.  Neighbours in memory, which are allocated
 * one after the other, have neighbouring buckets, as in a large table each other one would be a
 * cache miss; pages have theirs anywhere.
 */
static inline uint32
plh_pointer_table_hash(const void *pointer)
{
	uintptr_t	address = (uintptr_t) pointer;
	uint32		page_hash = plh_pointer_hash((void *) (address / 4096)) >> 32;

	return page_hash + address % 4096 / 16;
}

/* Returns the bucket that "pointer" belongs to: the head of its chain. */
static inline uint32 *
plh_pointer_table_bucket(const PlhPointerTable *table, const void *pointer)
{
	return plh_hash_buckets_head(&table->buckets, plh_pointer_table_hash(pointer));
}

/* Returns the entry for "pointer", or NULL. */
static inline void *
plh_pointer_table_find(const PlhPointerTable *table, const void *pointer)
{
	uint32		index;

	if (table->used_entries == 0)
		return NULL;

	index = *plh_pointer_table_bucket(table, pointer);
	while (index != PLH_NO_ENTRY)
	{
		PlhPointerEntry *entry = plh_pointer_table_entry(table, index);

		if (entry->pointer == pointer)
			return entry;
		index = entry->next;
	}
	return NULL;
}

static inline void
plh_pointer_table_remove(PlhPointerTable *table, void *entry_of_table)
{
	PlhPointerEntry *entry = entry_of_table;
	uint32	   *link = plh_pointer_table_bucket(table, entry->pointer);
	uint32		index;

	Assert(plh_pointer_table_find(table, entry->pointer) == entry);
	for (;;)
	{
		PlhPointerEntry *other;

		/* a broken table must not make us follow PLH_NO_ENTRY */
		index = *link;
		if (index == PLH_NO_ENTRY)
			return;
		other = plh_pointer_table_entry(table, index);
		if (other == entry)
			break;
		link = &other->next;
	}
	*link = entry->next;

	entry->pointer = NULL;
	entry->next = table->free_entry;
	table->free_entry = index;
	Assert(table->used_entries > 0);
	table->used_entries--;
}
