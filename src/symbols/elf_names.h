/*
 * elf_names.h
 *	  Names functions where libdw is missing: by the symbol tables of a binary and of its debug
 *	  file, without files, lines and inlined functions.
 *
 * Runs in the symbolizer, and in tests.  Allocates by malloc, and uses nothing of PostgreSQL's but
 * types.  The files may be hostile: nothing is read outside of them, and time and memory are
 * bounded.
 */
#pragma once

#include "base/limits.h"
#include "symbols/symbol_files.h"

/* The tables of three files at most. */
#define PLH_NAME_TABLES 4

/* The functions of a binary; all texts belong to it. */
typedef struct PlhElfNames
{
	struct ElfFunction *functions;	/* sorted by start */
	uint32		count;
	uint32		room;
	char	   *texts[PLH_NAME_TABLES]; /* what the names point into */
	int			text_count;
	const char *called_malloc;	/* in another binary; NULL: nothing */
	bool		has_table;		/* more than the exported functions */
	bool		out_of_memory;
	char		file[PLH_PATH_MAX]; /* with the symbols; or the binary */
} PlhElfNames;

/* Sets "opened" only if PLH_MODULE_OPEN.  plh_elf_names_close ends it, and all of its names. */
extern PlhModuleStatus plh_elf_names_open(const PlhBinary *binary, PlhElfNames **opened);

/* The function that an address of the binary is in; NULL if none is known for sure. */
extern const char *plh_elf_names_find(const PlhElfNames *names, uint64 address);

/*
 * The names of the binaries that a file is linked to, of which there is room for so many.  They
 * point into *texts, which is to be freed.  Returns how many; 0 if that can't be read.
 */
extern int	plh_elf_names_linked_to(const char *path, char **texts, const char **names, int room);
extern void plh_elf_names_close(PlhElfNames *names);

/* The function of malloc's family that has that name, as a constant; else NULL. */
extern const char *plh_elf_names_of_malloc(const char *name);
