/*
 * profile_builder.c
 *	  Builds a profile in memory, from a dump or from several profiles, record
 *	  by record.
 *
 * Records start at multiples of 8, as in the profiles of processes, so that
 * profile_image.c reads both.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "reader/profile_builder.h"

#define FIRST_ROOM_BYTES (64 * 1024)

/*
 * Begin a profile in the current memory context: a header of zeros, and no
 * records.
 */
void
plh_profile_builder_begin(PlhProfileBuilder *builder, const char *path)
{
	builder->path = path;
	builder->room_bytes = FIRST_ROOM_BYTES;
	builder->base = palloc0(builder->room_bytes);
	builder->used_bytes = TYPEALIGN(8, sizeof(PlhProfileHeader));
}

/*
 * The header of the profile.
 */
PlhProfileHeader *
plh_profile_builder_header(const PlhProfileBuilder *builder)
{
	return (PlhProfileHeader *) builder->base;
}

/*
 * The record at an offset that an addition has returned.
 */
void *
plh_profile_builder_record(const PlhProfileBuilder *builder, uint32 offset)
{
	Assert(offset % 8 == 0 && offset >= sizeof(PlhProfileHeader) &&
		   offset + sizeof(PlhRecord) <= builder->used_bytes);
	return builder->base + offset;
}

/*
 * Add a record whose fields are 0 but for its kind and size.
 */
uint32
plh_profile_builder_add(PlhProfileBuilder *builder, PlhRecordKind kind,
						Size bytes)
{
	uint32		offset = builder->used_bytes;
	PlhRecord  *record;

	bytes = TYPEALIGN(8, bytes);
	if (builder->used_bytes + bytes > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 builder->path != NULL ?
				 errmsg("dump file \"%s\" is too large", builder->path) :
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

/*
 * Add a text.
 */
uint32
plh_profile_builder_add_string(PlhProfileBuilder *builder, const char *text)
{
	uint32		offset =
		plh_profile_builder_add(builder, PLH_RECORD_STRING,
								offsetof(PlhStringRecord, text) +
								strlen(text) + 1);
	PlhStringRecord *string = plh_profile_builder_record(builder, offset);

	string->text_bytes = strlen(text);
	strcpy(string->text, text);
	return offset;
}

/*
 * Add a statement, whose query id is 0 and whose text is empty if not known.
 */
uint32
plh_profile_builder_add_statement(PlhProfileBuilder *builder, uint64 query_id,
								  const char *text)
{
	uint32		offset =
		plh_profile_builder_add(builder, PLH_RECORD_STATEMENT,
								offsetof(PlhStatementRecord, text) +
								strlen(text) + 1);
	PlhStatementRecord *statement = plh_profile_builder_record(builder, offset);

	statement->query_id = query_id;
	statement->text_bytes = strlen(text);
	strcpy(statement->text, text);
	return offset;
}

/*
 * Add a stack, the innermost frame first.
 */
uint32
plh_profile_builder_add_stack(PlhProfileBuilder *builder,
							  const PlhFrame *frames, uint32 depth,
							  bool truncated)
{
	uint32		offset =
		plh_profile_builder_add(builder, PLH_RECORD_STACK,
								offsetof(PlhStackRecord, frames) +
								sizeof(PlhFrame) * depth);
	PlhStackRecord *stack = plh_profile_builder_record(builder, offset);

	stack->depth = depth;
	stack->truncated = truncated;
	memcpy(stack->frames, frames, sizeof(PlhFrame) * depth);
	return offset;
}
