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

typedef struct PlhLookCopy
{
	PlhHeapMemory memory;
	PlhLookRegisters registers;
	int			pid;
	const char *root;			/* in front of paths that it has elsewhere */
	int			threads;		/* 0: not known, as it was not stopped */
	int64		stopped_us;
	int64		copied_bytes;
	int64		unread_bytes;	/* of roots, that could not be read */
} PlhLookCopy;

/*
 * Copy the memory of a process, which stands still for what it may write to.  Returns false, with
 * errno set, if that can't be; ENOMEM: there is no room for it.
 */
extern bool plh_look_copy_make(PlhLookCopy *copy, int pid, bool stops);

/* Give its memory back. */
extern void plh_look_copy_forget(PlhLookCopy *copy);
