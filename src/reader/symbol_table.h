/*
 * symbol_table.h
 *	  Symbols that come with a dump, so that no binary is needed for them.
 *
 * Never called inside palloc; a table belongs to the memory context in which it
 * was made.
 */
#ifndef PLH_SYMBOL_TABLE_H
#define PLH_SYMBOL_TABLE_H

#include "profile/profile_layout.h"
#include "profile/source_frame.h"

typedef struct PlhSymbolTable PlhSymbolTable;

extern PlhSymbolTable *plh_symbol_table_create(void);
extern void plh_symbol_table_add(PlhSymbolTable *table, PlhFrame frame,
								 const PlhSourceFrame *source);
extern const PlhSourceFrame *plh_symbol_table_find(const PlhSymbolTable *table,
												   PlhFrame frame, int *count);

#endif							/* PLH_SYMBOL_TABLE_H */
