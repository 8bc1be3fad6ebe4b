/*
 * machine_memory.h
 *	  How much memory the processes of this server may have.
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

/* Returns false if the kernel does not tell it. */
extern bool plh_machine_memory_read(PlhMachineMemory *memory);
