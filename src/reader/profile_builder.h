/*
 * profile_builder.h
 *	  A profile that is made of a dump file, record by record.
 *
 * Belongs to the memory context in which it was begun.  Adding a record may
 * move the profile: pointers into it are stale then, offsets are not.  Never
 * called inside palloc.
 */
#ifndef PLH_PROFILE_BUILDER_H
#define PLH_PROFILE_BUILDER_H

#include "profile/profile_layout.h"

typedef struct PlhProfileBuilder
{
	const char *path;			/* of the dump file, for errors */
	char	   *base;
	Size		used_bytes;
	Size		room_bytes;
} PlhProfileBuilder;

extern void plh_profile_builder_begin(PlhProfileBuilder *builder,
									  const char *path);
extern PlhProfileHeader *plh_profile_builder_header(const PlhProfileBuilder *builder);
extern void *plh_profile_builder_record(const PlhProfileBuilder *builder,
										uint32 offset);
extern uint32 plh_profile_builder_add(PlhProfileBuilder *builder,
									  PlhRecordKind kind, Size bytes);
extern uint32 plh_profile_builder_add_string(PlhProfileBuilder *builder,
											 const char *text);
extern uint32 plh_profile_builder_add_statement(PlhProfileBuilder *builder,
												uint64 query_id,
												const char *text);
extern uint32 plh_profile_builder_add_stack(PlhProfileBuilder *builder,
											const PlhFrame *frames,
											uint32 depth, bool truncated);

#endif							/* PLH_PROFILE_BUILDER_H */
