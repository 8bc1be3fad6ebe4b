/*
 * server_memory.h
 *	  What all processes of this server take outside of their private memory: shared memory by
 *	  kind, each once, and page tables; and who counts it.
 *
 * Never called inside palloc.
 */
#pragma once

#include "reader/machine_memory.h"
#include "reader/server_processes.h"
#include "reader/shared_segments.h"

/* A process, the postmaster included. */
typedef struct PlhServerProcess
{
	int			pid;
	PlhProcessMemory memory;

	/*
	 * Its share of private memory: a page that several have since they were
	 * forked is divided among these.  Of a process that is very large, all of
	 * it.
	 */
	int64		share_bytes;
} PlhServerProcess;

/* Of shared buffers, -1 is not known. */
typedef struct PlhServerMemory
{
	int			process_count;
	PlhServerProcess *processes;

	/* sums over the processes */
	int64		private_bytes;
	int64		share_bytes;
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
	PlhSharedSegments segments; /* these */
	List	   *named_segments; /* of PlhNamedSegment: of dynamic memory,
								 * wherever it is */
	int64		profile_bytes;	/* of files of pg_leakhunt in a tmpfs */
	int64		huge_pages_needed;	/* by the main segment; <= 0: not known */

	/* /dev/shm; 0: there is none */
	int64		shm_size;
	int64		shm_used;

	int64		machine_bytes;	/* of memory; 0: not known */

	bool		has_use;
	PlhMemoryUse use;
	PlhMemoryPromises promises;
} PlhServerMemory;

/* What a file in a file system takes there; 0: there is none. */
extern int64 plh_server_memory_of_file(const char *path);

/*
 * "directory" is that of the profiles, or NULL where there is none; "group" a control group, or
 * NULL: that of this process.  Of a group that does not count, has_use is false.  Lists belong to
 * the current memory context.
 */
extern void plh_server_memory_read(PlhServerMemory *memory, const char *directory,
								   const char *group);
