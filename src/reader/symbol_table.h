/*
 * symbol_table.h
 *	  Holds the symbols that a dump brings along, so that its stacks can be
 *	  read where its modules are not installed.
 *
 * A table and copies of all texts belong to the memory context in which it was
 * created.  Never called inside palloc.
 */
#ifndef PLH_SYMBOL_TABLE_H
#define PLH_SYMBOL_TABLE_H

#include "profile/profile_layout.h"
#include "profile/source_frame.h"

typedef struct PlhSymbolTable PlhSymbolTable;

extern PlhSymbolTable *plh_symbol_table_create(void);
extern void plh_symbol_table_add(PlhSymbolTable *table, PlhFrame frame,
								 const PlhSourceFrame *source);

/* The result is valid until the next addition. */
extern const PlhSourceFrame *plh_symbol_table_find(const PlhSymbolTable *table,
												   PlhFrame frame, int *count);

#endif							/* PLH_SYMBOL_TABLE_H */
