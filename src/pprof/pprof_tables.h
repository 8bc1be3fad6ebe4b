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

#include "pprof/pprof_samples.h"

/* The numbers of fields in profile.proto, an enum for each message. */
enum
{
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
	PROFILE_FUNCTION, PROFILE_STRING, PROFILE_DROP_FRAMES,
	PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_SAMPLE_TYPE
};
enum
{
	VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT
};
enum
{
	SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL
};
enum
{
	LABEL_KEY = 1, LABEL_TEXT
};
enum
{
	MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET,
	MAPPING_FILE, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES, MAPPING_HAS_LINES, MAPPING_HAS_INLINED
};
enum
{
	LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE
};
enum
{
	LINE_FUNCTION = 1, LINE_NUMBER
};
enum
{
	FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE
};

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
