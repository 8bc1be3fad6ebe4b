/*
 * server_memory.h
 *	  What all processes of this server take outside of their private memory: shared memory by
 *	  kind, each once, and page tables; and who counts it.
 *
 * Never called inside palloc.
 */
#pragma once

#include "reader/machine_memory.h"

/* Of shared buffers, -1 is not known. */
typedef struct PlhServerMemory
{
	/* sums over the processes */
	int64		private_bytes;
	int64		touched_bytes;	/* of shared memory, by each */
	int64		page_table_bytes;
	int64		swapped_bytes;

	/* shared memory that takes memory */
	int64		buffer_bytes;
	int64		buffers_size;	/* what shared_buffers allows */
	int64		main_bytes;		/* of the main segment, without buffers */
	bool		is_huge;		/* that segment is in huge pages */
	int64		dynamic_bytes;	/* of segments in /dev/shm */
	int			dynamic_segments;
	int64		profile_bytes;	/* of files of pg_leakhunt in a tmpfs */
	int64		huge_pages_needed;	/* by the main segment; <= 0: not known */

	/* /dev/shm; 0: there is none */
	int64		shm_size;
	int64		shm_used;

	bool		in_one_group;	/* all processes are in the group of this one */
	bool		has_use;
	PlhMemoryUse use;
} PlhServerMemory;

/* "directory" is that of the profiles, or NULL where there is none. */
extern void plh_server_memory_read(PlhServerMemory *memory, const char *directory);

/* Of /dev/shm: 0 where there is none. */
extern void plh_server_memory_shm_room(int64 *size, int64 *used);
