/*
 * machine_memory.h
 *	  How much memory the processes of this server may have, and who uses how much of it.
 *
 * In a container, or in a service with a limit, that is less than the machine has.  Never called
 * inside palloc.
 */
#pragma once

typedef struct PlhMachineMemory
{
	int64		total_bytes;	/* of the machine, or the lowest limit */
	int64		available_bytes;	/* of these, before the kernel has to kill */
} PlhMachineMemory;

/*
 * What the kernel counts: for the control group of the server, or, where there is none that counts,
 * for the machine.  Parts are those that it tells; kernel_bytes are page tables, sockets, slabs and
 * stacks.
 */
typedef struct PlhMemoryUse
{
	bool		of_group;
	int64		used_bytes;		/* in all */
	int64		changed_bytes;	/* by so much while this was read */
	int64		private_bytes;
	int64		shared_bytes;
	int64		file_bytes;		/* page cache, without shared memory */
	int64		idle_file_bytes;	/* of this, what goes first */
	int64		kernel_bytes;
	int64		page_table_bytes;	/* of these; 0: it does not tell */
	int64		slab_bytes;		/* and what it gives back where memory is
								 * short */
	int64		huge_bytes;		/* huge pages, where used_bytes has them */
	bool		has_huge;		/* it has */
	int64		limit_bytes;	/* of the group itself; 0: none, as the next */
	int64		slow_bytes;		/* beyond that the kernel slows it down */
	int64		outer_limit_bytes;	/* the lowest of groups that contain it */
	int64		swapped_bytes;	/* beside used_bytes */
	int64		swap_bytes;		/* of swap that there may be; -1: it does not
								 * tell, where the machine has some */
} PlhMemoryUse;

/* What the kernel promises to processes, as /proc/sys/vm/overcommit_memory says. */
typedef enum PlhPromiseMode
{
	PLH_PROMISES_UNLESS_ABSURD = 0,
	PLH_PROMISES_ALL = 1,
	PLH_PROMISES_WHAT_IT_HAS = 2
} PlhPromiseMode;

typedef struct PlhMemoryPromises
{
	PlhPromiseMode mode;
	int64		promised_bytes; /* to all processes of the machine */
	int64		limit_bytes;	/* which counts in the last mode only */
} PlhMemoryPromises;

/* Each returns false if the kernel does not tell it. */
extern bool plh_machine_memory_read(PlhMachineMemory *memory);
extern bool plh_machine_memory_use(PlhMemoryUse *use);

/* The same of a group that is named as in /proc/PID/cgroup; false also where there is none. */
extern bool plh_machine_memory_use_of(PlhMemoryUse *use, const char *group);

extern int64 plh_machine_memory_bytes(void);
extern void plh_machine_memory_promises(PlhMemoryPromises *promises);

/* What the kernel may still promise to processes, where it promises no more than there is. */
extern int64 plh_machine_memory_to_promise(void);
