/*
 * pointer_table.h
 *	  A hash table from pointers to entries of a fixed size that never move.
 *
 * The table is written by hand because lib/simplehash.h rehashes everything
 * within one insertion and moves entries, both of which are wrong here.  With
 * linear hashing each insertion splits at most one bucket, so that no single
 * palloc pays for a rehash.  Entries can also be reached by an index, which
 * takes half the room of a pointer.
 *
 * These functions may be called inside palloc; they never palloc, throw or
 * lock, and are not reentrant.  plh_pointer_table_init comes first; a table
 * takes no memory before the first insertion.
 */
#ifndef PLH_POINTER_TABLE_H
#define PLH_POINTER_TABLE_H

#include "base/private_memory.h"

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
	uint32		buckets;		/* now in use, grows by splitting */
	PlhRegion	entry_region;
	PlhRegion	bucket_region;	/* uint32 heads of chains */
} PlhPointerTable;

extern void plh_pointer_table_init(PlhPointerTable *table, uint32 entry_bytes,
								   uint32 max_entries);
extern void *plh_pointer_table_insert(PlhPointerTable *table,
									  const void *pointer);
extern void *plh_pointer_table_find(const PlhPointerTable *table,
									const void *pointer);
extern void plh_pointer_table_remove(PlhPointerTable *table,
									 void *entry_of_table);
extern void plh_pointer_table_discard(PlhPointerTable *table);

/* Returns the entry of an index, which an insertion must have used. */
static inline void *
plh_pointer_table_entry(const PlhPointerTable *table, uint32 index)
{
	Assert(index < table->high_entries);
	return table->entry_region.base + (Size) index * table->entry_bytes;
}

/* Returns the index of an entry. */
static inline uint32
plh_pointer_table_index(const PlhPointerTable *table, const void *entry)
{
	Size		offset = (const char *) entry - table->entry_region.base;

	Assert(offset % table->entry_bytes == 0);
	Assert(offset / table->entry_bytes < table->high_entries);
	return offset / table->entry_bytes;
}

/*
 * Returns a hash of a pointer, whose high bits are the good ones.  The low
 * bits of a chunk's address are 0, and the multiplication spreads the others.
 */
static inline uint64
plh_pointer_hash(const void *pointer)
{
	return (uint64) (uintptr_t) pointer * UINT64CONST(0x9E3779B97F4A7C15);
}

#endif							/* PLH_POINTER_TABLE_H */
