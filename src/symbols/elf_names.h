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

#include "symbols/binary.h"

typedef struct PlhElfNames PlhElfNames;

/*
 * Sets "opened" only if the result is PLH_MODULE_OPEN.  The caller ends it by plh_elf_names_close,
 * which also frees all names that were returned.
 */
extern PlhModuleStatus plh_elf_names_open(const PlhBinary *binary, PlhElfNames **opened);

/* How many functions it knows, and whether more than the exported ones. */
extern int	plh_elf_names_count(const PlhElfNames *names);
extern bool plh_elf_names_has_table(const PlhElfNames *names);

/* The path of the file that has the symbols, or else of the binary. */
extern const char *plh_elf_names_file(const PlhElfNames *names);

/* The function that an address of the binary is in; NULL if none is known for sure. */
extern const char *plh_elf_names_find(const PlhElfNames *names, uint64 address);

/* What it calls of malloc's family in another binary; a constant, or NULL. */
extern const char *plh_elf_names_called_malloc(const PlhElfNames *names);
extern void plh_elf_names_close(PlhElfNames *names);

/* The function of malloc's family that has that name, as a constant; else NULL. */
extern const char *plh_elf_names_of_malloc(const char *name);
