/*
 * profile_builder.c
 *	  Builds a profile in memory, from several profiles, record by record.
 *
 * Records start at multiples of 8, as in the profiles of processes, so that profile_image.c reads
 * both.
 */
#include "postgres.h"

#include "profile/profile_image.h"
#include "reader/profile_builder.h"

#define FIRST_ROOM_BYTES (64 * 1024)

/* Begin a profile in the current memory context: a header of zeros, and no records. */
void
plh_profile_builder_begin(PlhProfileBuilder *builder)
{
	builder->room_bytes = FIRST_ROOM_BYTES;
	builder->base = palloc0(builder->room_bytes);
	builder->used_bytes = TYPEALIGN(8, sizeof(PlhProfileHeader));
	plh_profile_image_note_layout(plh_profile_builder_header(builder));
}

PlhProfileHeader *
plh_profile_builder_header(const PlhProfileBuilder *builder)
{
	return (PlhProfileHeader *) builder->base;
}

void *
plh_profile_builder_record(const PlhProfileBuilder *builder, uint32 offset)
{
	Assert(offset % 8 == 0 && offset >= sizeof(PlhProfileHeader) &&
		   offset + sizeof(PlhRecord) <= builder->used_bytes);
	return builder->base + offset;
}

/* Add a record whose fields are 0 but for its kind and size. */
uint32
plh_profile_builder_add(PlhProfileBuilder *builder, PlhRecordKind kind, Size bytes)
{
	uint32		offset = builder->used_bytes;
	PlhRecord  *record;

	bytes = TYPEALIGN(8, bytes);
	if (builder->used_bytes + bytes > PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("the profiles of all processes are too large to be merged")));
	while (builder->used_bytes + bytes > builder->room_bytes)
	{
		builder->room_bytes *= 2;
		builder->base = repalloc_huge(builder->base, builder->room_bytes);
	}
	builder->used_bytes += bytes;
	record = plh_profile_builder_record(builder, offset);
	memset(record, 0, bytes);
	record->kind = kind;
	record->bytes = bytes;
	return offset;
}

uint32
plh_profile_builder_add_string(PlhProfileBuilder *builder, const char *text)
{
	Size		bytes = strlen(text);
	uint32		offset = plh_profile_builder_add(builder, PLH_RECORD_STRING,
												 offsetof(PlhStringRecord, text) + bytes + 1);
	PlhStringRecord *string = plh_profile_builder_record(builder, offset);

	string->text_bytes = bytes;
	memcpy(string->text, text, bytes);
	return offset;
}
