/*
 * memory_part.h
 *	  The parts of the memory that a control group, or the machine, uses, and what limits it.
 *
 * Each has a name for programs, a title for readers, and a sentence: what it is.
 */
#pragma once

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#define PLH_EACH_MEMORY_PART(PART) \
	PART(USED_OF_GROUP, "used", "used by the control group", \
		 "What the kernel counts against the group's limit.") \
	PART(USED_OF_MACHINE, "used", "used by the machine", \
		 "No control group counts, so this is all that is used, by any program.") \
	PART(PRIVATE, "private", "private memory", \
		 "Memory that a process has alone. Only ending it, or its freeing, gives it back.") \
	PART(SESSIONS, "sessions", "", "") \
	PART(UNCOUNTED_SESSIONS, "sessions", "", \
		 "What for is not known: they have not counted their memory, or have not loaded pg_leakhunt.") \
	PART(OTHER_SESSIONS, "sessions", "other processes of this server", \
		 "Those of types that are too small for rows of their own.") \
	PART(FAMILY, "contexts", "", "") \
	PART(FAMILIES, "contexts", "other memory contexts", \
		 "Those that are too small for rows of their own.") \
	PART(CONTEXTS, "contexts", "memory contexts", \
		 "All of them; none is large enough for a row of its own.") \
	PART(MALLOC, "malloc", "malloc outside of contexts", \
		 "What libraries have allocated themselves.") \
	PART(FREED, "freed", "freed, and kept by malloc", \
		 "Nobody uses it. pg_leakhunt_trim(pid) gives it back.") \
	PART(BESIDE, "beside", "stacks, libraries' data and other mappings", \
		 "What neither memory contexts nor malloc account for.") \
	PART(UNWRITTEN, "unwritten", "counted above, but shared or not in memory", \
		 "Less than nothing: part of it is shared since a fork, was never written to, or is in swap.") \
	PART(UNCOUNTED, "uncounted", "not counted", \
		 "Processes that have not counted their memory, such as those without pg_leakhunt.") \
	PART(PRIVATE_REST, "private_rest", "private memory of other processes", \
		 "Of programs beside this server, or changed while this was read.") \
	PART(PRIVATE_TWICE, "private_rest", "counted twice, or freed while this was read", \
		 "Less than nothing: processes of the server have more than the kernel counts here.") \
	PART(SHARED, "shared", "shared memory", \
		 "Each part once, however many processes use it. It stays until it is removed.") \
	PART(BUFFERS, "shared_buffers", "shared buffers", \
		 "What was touched of shared_buffers. It grows until it has all of that.") \
	PART(MAIN, "main_segment", "the rest of the main segment", \
		 "Locks, buffer headers, WAL buffers, extensions.") \
	PART(SEGMENTS, "dynamic_segments", "dynamic segments", \
		 "Segments in /dev/shm of parallel queries, statistics and extensions.") \
	PART(OWNER, "segment_owner", "", "") \
	PART(OWNERS, "segment_owners", "mapped by several sessions", \
		 "Such as the server's statistics, and registries of extensions.") \
	PART(OWNERS_REST, "segment_owners", "of other sessions", \
		 "Those whose segments are too small for rows of their own.") \
	PART(PROFILES, "profiles", "profiles of pg_leakhunt", \
		 "Where they are in a file system in memory (pg_leakhunt.profile_directory).") \
	PART(SHARED_REST, "shared_rest", "other shared memory", \
		 "Other programs, files in file systems in memory, and segments that nobody has mapped.") \
	PART(SHARED_ELSEWHERE, "shared_rest", "counted for another control group", \
		 "Less than nothing: the group whose process touched it first has it.") \
	PART(FILES, "page_cache", "page cache", \
		 "Copies of files. The kernel drops them before it kills.") \
	PART(FILES_IDLE, "page_cache_idle", "not used lately", \
		 "What goes first. Kubernetes' working set is all that is used, without this.") \
	PART(FILES_RECENT, "page_cache_recent", "used lately, or not yet written to disk", \
		 "It goes next.") \
	PART(KERNEL, "kernel", "the kernel", \
		 "Page tables, caches of directories, sockets, stacks.") \
	PART(PAGE_TABLES, "page_tables", "page tables of this server's processes", \
		 "Each process has its own, also for shared buffers. Huge pages need next to none.") \
	PART(SLAB, "slab", "caches of directories and inodes", \
		 "The kernel drops these before it kills.") \
	PART(KERNEL_REST, "kernel_rest", "the rest of the kernel's", \
		 "Sockets, stacks, page tables of others.") \
	PART(HUGE, "huge_pages", "huge pages", \
		 "Reserved as a whole, whether used or not.") \
	PART(HUGE_MAIN, "main_segment", "the main segment, with shared buffers", \
		 "It is in huge pages.") \
	PART(HUGE_REST, "huge_rest", "other huge pages", \
		 "Of other programs, or not in use.") \
	PART(REST, "rest", "not told apart", \
		 "The kernel counts it, and tells no more of it.") \
	PART(UNCOUNTED_MAIN, "main_segment", "the main segment, in huge pages", \
		 "It is beside what is counted here.") \
	PART(SWAPPED, "swapped", "in swap", \
		 "It is beside what is used.") \
	PART(NAMED, "named_segment", "", \
		 "As in pg_dsm_registry_allocations. It is within the dynamic segments, or the main one.") \
	PART(LIMIT, "limit", "limit of the control group", \
		 "At this the kernel drops page cache, and then kills.") \
	PART(SLOW_LIMIT, "slow_limit", "limit to slow down (memory.high)", \
		 "Beyond this the kernel takes memory back, and slows processes down.") \
	PART(OUTER_LIMIT, "outer_limit", "limit of a group around it", \
		 "Other processes count there, too.") \
	PART(NO_LIMIT, "limit", "limit of the control group", \
		 "There is none; the machine's memory limits it.") \
	PART(MACHINE, "machine", "memory of the machine", \
		 "All programs together.") \
	PART(SWAP, "swap_limit", "swap that may be used", \
		 "What does not fit into memory may go there, slowly.") \
	PART(SWAP_UNKNOWN, "swap_limit", "swap that may be used", \
		 "The machine has swap; the kernel does not tell how much of it the group may have.") \
	PART(SHM_SIZE, "shm_size", "size of /dev/shm", \
		 "What parallel queries and extensions can have in dynamic segments.") \
	PART(SHM_USED, "shm_used", "of this, used", \
		 "By any program in this container.") \
	PART(PROMISES, "promises_limit", "what the kernel promises at most", \
		 "vm.overcommit_memory is 2: an allocation beyond this fails, and nothing is killed.") \
	PART(PROMISED, "promised", "of this, promised", \
		 "To all processes of the machine.") \
	PART(NO_PROMISES, "promises_limit", "what the kernel promises at most", \
		 "vm.overcommit_memory is 0 or 1: it promises more than there is, and kills when it must.")

typedef enum PlhMemoryPartId
{
#define PLH_MEMORY_PART_OF(id, name, title, detail) PLH_PART_##id,
	PLH_EACH_MEMORY_PART(PLH_MEMORY_PART_OF)
#undef PLH_MEMORY_PART_OF
	PLH_MEMORY_PARTS			/* how many there are */
} PlhMemoryPartId;

typedef struct PlhMemoryPart
{
	PlhMemoryPartId id;
	int			number;			/* from 1 on, in the order of the list */
	int			part_of;		/* the number of the one that it is in; 0:
								 * none */
	int			level;
	const char *title;			/* of a kind of processes or contexts; else
								 * NULL */
	const char *application;	/* that such processes are of, or NULL */
	int64		bytes;
	bool		is_unknown;		/* these, or there are none */
	int			processes;		/* that have it; 0: it is not of processes */
	int			owner_pid;		/* of segments, or 0 */
	TimestampTz counted_at;		/* the oldest count that it is of; 0: of none */
} PlhMemoryPart;

/* Append a part of a whole, or NULL, to a list.  Returns it. */
extern PlhMemoryPart *plh_memory_part_put(List **parts, PlhMemoryPartId id,
										  const PlhMemoryPart *whole, int64 bytes);

/* The same of one that there may be none of. */
extern void plh_memory_part_put_some(List **parts, PlhMemoryPartId id, const PlhMemoryPart *whole,
									 int64 bytes);

/* Append what remains of a whole, or what its parts have beyond it, which is negative. */
extern void plh_memory_part_put_rest(List **parts, const PlhMemoryPart *whole, PlhMemoryPartId more,
									 PlhMemoryPartId less);
