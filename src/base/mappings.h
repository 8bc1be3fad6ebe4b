/*
 * mappings.h
 *	  The mappings of a process, as the kernel lists them.
 *
 * These functions make system calls only, as they run where stdio could need locks or memory that
 * another thread held at a fork.
 */
#pragma once

typedef struct PlhMapping
{
	uintptr_t	from;
	uintptr_t	to;
	uint64		file_offset;
	bool		is_readable;
	bool		is_writable;
	bool		is_executable;
	bool		is_shared;
	const char *path;			/* empty: of no file */
} PlhMapping;

/* Read all of a list.  Returns false if it can't be read or has no room. */
extern bool plh_mappings_read(const char *list, char *text, Size room);

/* Take the next line of the text, which changes.  Returns false at its end. */
extern bool plh_mappings_next(char **text, PlhMapping *mapping);
