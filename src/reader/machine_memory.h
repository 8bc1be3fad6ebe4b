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
	int64		kernel_bytes;
	int64		huge_bytes;		/* huge pages, where used_bytes has them */
	bool		has_huge;		/* it has */
	int64		limit_bytes;	/* of the group itself; 0: none, as the next */
	int64		slow_bytes;		/* beyond that the kernel slows it down */
	int64		outer_limit_bytes;	/* the lowest of groups that contain it */
} PlhMemoryUse;

/* Each returns false if the kernel does not tell it. */
extern bool plh_machine_memory_read(PlhMachineMemory *memory);
extern bool plh_machine_memory_use(PlhMemoryUse *use);

/* What the kernel may still promise to processes, where it promises no more than there is. */
extern int64 plh_machine_memory_to_promise(void);
