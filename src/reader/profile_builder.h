/*
 * profile_builder.h
 *	  Builds a profile in memory, from several profiles, record by record.
 *
 * The profile belongs to the memory context in which it was begun.  Every addition may move it:
 * pointers to the header and to records are valid until the next addition, offsets for ever.  A
 * profile that would exceed 2 GB is an ERROR.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_layout.h"

typedef struct PlhProfileBuilder
{
	char	   *base;			/* header and records */
	Size		used_bytes;		/* a multiple of 8 */
	Size		room_bytes;
} PlhProfileBuilder;

extern void plh_profile_builder_begin(PlhProfileBuilder *builder);
extern PlhProfileHeader *plh_profile_builder_header(const PlhProfileBuilder *builder);
extern void *plh_profile_builder_record(const PlhProfileBuilder *builder, uint32 offset);

/* Returns the offset of the new record. */
extern uint32 plh_profile_builder_add(PlhProfileBuilder *builder, PlhRecordKind kind, Size bytes);
extern uint32 plh_profile_builder_add_string(PlhProfileBuilder *builder, const char *text);
