/*
 * heap_variables.h
 *	  The variables of a binary that is mapped: where they lie, and what they are called.
 *
 * Names are those of .symtab, of the debug file of its build-id, or of .dynsym; a binary that was
 * stripped keeps the names that others may use.  Files are not trusted.  Their tables are mapped,
 * so that they take no memory: who cuts a file off meanwhile ends the child that looks at it.
 */
#pragma once

typedef struct PlhHeapVariable
{
	uint64		start;			/* in the binary's own addresses */
	uint64		bytes;
	uint32		name;			/* offset in the names */
} PlhHeapVariable;

typedef struct PlhHeapVariables
{
	const char *path;
	uintptr_t	bias;			/* of addresses in memory */
	uintptr_t	start;			/* its variables lie here, in memory */
	uintptr_t	end;
	bool		was_read;		/* the names below were looked for */
	uint32		count;
	PlhHeapVariable *list;		/* by address */
	const char *names;
	Size		name_bytes;
} PlhHeapVariables;

/*
 * Where the variables of a binary are, of which a writable part is mapped at that address.  Returns
 * false if it is none.
 */
extern bool plh_heap_variables_place(PlhHeapVariables *variables, const char *path,
									 uintptr_t mapped_at, uint64 file_offset);

/* The variable at an address, and where it begins; NULL: it has no name. */
extern const char *plh_heap_variables_find(PlhHeapVariables *variables, uintptr_t address,
										   uintptr_t *start);

/* The address, in the binary's own addresses, of a variable that it exports by that name. */
extern bool plh_heap_variables_exported(const char *path, const char *name, uint64 *address);
