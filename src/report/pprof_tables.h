/*
 * pprof_tables.h
 *	  The strings, mappings, functions and locations of a profile for pprof, which
 *	  samples refer to by number.
 *
 * Strings, functions and locations are written when they are first met, before the
 * message that refers to them, and are numbered in that order.  So are mappings, but
 * these are written at the end, when it is known what they have.  Tables belong to
 * the memory context in which they were begun.  Never called inside palloc.
 */
#ifndef PLH_PPROF_TABLES_H
#define PLH_PPROF_TABLES_H

#include "lib/stringinfo.h"

#include "report/pprof_samples.h"

typedef struct PlhPprofTables PlhPprofTables;

/* "with_places": comments say where the code of each mapping is in its file. */
extern PlhPprofTables *plh_pprof_tables_begin(StringInfo output,
											  const PlhPprofSamples *samples,
											  bool with_places);

/* Each returns a number. */
extern int64 plh_pprof_tables_string(PlhPprofTables *tables, const char *text);
extern int64 plh_pprof_tables_mapping(PlhPprofTables *tables,
									  const PlhModuleRecord *module,
									  uint64 text_start);
extern uint32 plh_pprof_tables_location(PlhPprofTables *tables, uint32 index);
extern uint32 plh_pprof_tables_add_location(PlhPprofTables *tables,
											const PlhPprofLocation *location);

extern void plh_pprof_tables_comment(PlhPprofTables *tables,
									 const char *comment);
extern int	plh_pprof_tables_mapping_bytes(const PlhPprofTables *tables);
extern void plh_pprof_tables_end(PlhPprofTables *tables);

#endif							/* PLH_PPROF_TABLES_H */
