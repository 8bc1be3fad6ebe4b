/*
 * look_copy.h
 *	  A copy of the private memory of another process, as a source of words.
 *
 * Pages that the process has never touched are not read, however large what it has reserved: the
 * copy has zeros there, which take no memory.
 */
#pragma once

#include "heap/heap_memory.h"
#include "look/look_threads.h"

/* No process has anything at such an address: there registers are memory, too. */
#define PLH_LOOK_REGISTERS_AT ((uintptr_t) 4096)

/* Where a list of mappings that lie side by side begins, and where its copy is. */
typedef struct PlhLookRun
{
	uintptr_t	start;
	uintptr_t	end;
	char	   *bytes;
	bool		is_used;		/* it was there at the last look, too */
	bool		is_warm;		/* its copy has content of an earlier look */
} PlhLookRun;

typedef struct PlhLookCopy
{
	PlhHeapMemory memory;
	PlhLookRun *runs;
	uint32		run_count;
	PlhLookRegisters registers;
	int			pid;
	const char *root;			/* in front of paths that it has elsewhere */
	const char *binary;			/* the server's program, for this process */
	const char *binary_name;	/* and as it is listed, without the root */
	bool		is_core;		/* nothing of this is of a process that is
								 * there */
	int			threads;		/* 0: not known, as it was not stopped */
	int64		stopped_us;
	int64		copied_bytes;
	int64		unread_bytes;	/* of roots, that could not be read */
} PlhLookCopy;

/*
 * Copy the memory of a process, which stands still for what it may write to.  It is copied once
 * before: then room for it is there, and what was swapped out is back.  Returns false, with errno
 * set, if that can't be; ENOMEM: there is no room for it.
 */
extern bool plh_look_copy_make(PlhLookCopy *copy, int pid, bool stops);

/* Give its memory back. */
extern void plh_look_copy_forget(PlhLookCopy *copy);
